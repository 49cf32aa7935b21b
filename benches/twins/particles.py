"""A list of small objects, each updated in place in every round."""

from dataclasses import asdict, dataclass


@dataclass(slots=True)
class Particle:
    at: int
    speed: int
    bounces: int


def main(n, emit):
    particles = [Particle(i * 20, i % 9 + 1, 0) for i in range(50)]
    for _ in range(n):
        for particle in particles:
            particle.at += particle.speed
            if particle.at < 0 or particle.at > 1000:
                particle.speed = -particle.speed
                particle.bounces += 1
    emit("bounces", sum(particle.bounces for particle in particles))
    emit("last", asdict(particles[49]))
