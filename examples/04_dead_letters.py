"""A message that is received too often moves to a dead-letter queue.

Prints:

    try 1 of: poison
    try 2 of: poison
    dead: poison, received 2 times
"""

import dovemq


def main() -> None:
    with dovemq.open("memory://") as mq:
        dead = mq.create("jobs-dead")
        jobs = mq.create("jobs", dead_letters="jobs-dead", receives_max=2)
        jobs.send("poison")
        while messages := jobs.receive():
            for message in messages:
                print(f"try {message.receive_count} of: {message.body}")
                message.release()
        for letter in dead.peek():
            print(f"dead: {letter.message.body}, received {letter.receive_count} times")


if __name__ == "__main__":
    main()
