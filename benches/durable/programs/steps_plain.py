import sys

from openai import OpenAI

model = OpenAI()
key, count = sys.argv[1], int(sys.argv[2])
for i in range(count):
    model.chat.completions.create(model="small", messages=[{"role": "user", "content": f"step {key} {i}"}])
