import os
import sys

from dbos import DBOS, SetWorkflowID
from openai import OpenAI

model = OpenAI()


@DBOS.step()
def ask(prompt):
    reply = model.chat.completions.create(model="small", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


@DBOS.workflow()
def steps(key, count):
    for i in range(count):
        ask(f"step {key} {i}")


if __name__ == "__main__":
    DBOS(config={"name": "steps", "system_database_url": os.environ["DBOS_SYSTEM_DATABASE_URL"]})
    DBOS.launch()
    with SetWorkflowID(sys.argv[1]):
        DBOS.start_workflow(steps, sys.argv[1], int(sys.argv[2])).get_result()
