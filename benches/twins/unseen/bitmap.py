"""Lines, circles and filled boxes drawn into a bitmap, which is then written as text."""


class Bitmap:
    def __init__(self, width, height):
        self.width = width
        self.height = height
        self.rows = [[False] * width for _ in range(height)]

    def dot(self, x, y):
        if 0 <= x < self.width and 0 <= y < self.height:
            self.rows[y][x] = True

    def line(self, x0, y0, x1, y1):
        dx = abs(x1 - x0)
        dy = -abs(y1 - y0)
        sx = 1 if x0 < x1 else -1
        sy = 1 if y0 < y1 else -1
        x, y = x0, y0
        error = dx + dy
        while True:
            self.dot(x, y)
            if x == x1 and y == y1:
                break
            twice = 2 * error
            if twice >= dy:
                error += dy
                x += sx
            if twice <= dx:
                error += dx
                y += sy

    def circle(self, cx, cy, radius):
        x = radius
        y = 0
        error = 1 - radius
        while x >= y:
            for a, b in ((x, y), (y, x), (-x, y), (-y, x), (x, -y), (y, -x), (-x, -y), (-y, -x)):
                self.dot(cx + a, cy + b)
            y += 1
            if error < 0:
                error += 2 * y + 1
            else:
                x -= 1
                error += 2 * (y - x) + 1

    def flip(self, left, top, side):
        for y in range(top, min(top + side, self.height)):
            row = self.rows[y]
            for x in range(left, min(left + side, self.width)):
                row[x] = not row[x]

    def count(self):
        return sum(len([on for on in row if on]) for row in self.rows)

    def text(self):
        out = ""
        for row in self.rows:
            for on in row:
                out += "#" if on else "."
            out += "\n"
        return out


def main(n, emit):
    picture = Bitmap(64, 40)
    dots = pairs = 0
    for i in range(n):
        if i % 20 == 0:
            picture = Bitmap(64, 40)
        picture.line(i * 7 % 64, i * 3 % 40, i * 13 % 70, i * 11 % 45)
        picture.circle(i * 5 % 64, i * 9 % 40, i % 15)
        if i % 4 == 0:
            picture.flip(i % 50, i % 30, 9)
        if i % 10 == 9:
            dots += picture.count()
            pairs += len(picture.text().split("##"))
    emit("dots", dots)
    emit("pairs", pairs)
    emit("middle", picture.text().splitlines()[20])
