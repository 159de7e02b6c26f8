"""A FIFO queue keeps the order of each group, and locks a group while a message of it is leased.

Run `eval "$(dovemq env)"` first. Prints:

    a: ['a1', 'a2']
    while a is locked: ['b1']
"""

import boto3


def main() -> None:
    sqs = boto3.client("sqs")
    attributes = {"FifoQueue": "true", "ContentBasedDeduplication": "true"}
    url = sqs.create_queue(QueueName="example-letters.fifo", Attributes=attributes)["QueueUrl"]
    for body in ("a1", "a2", "b1"):
        sqs.send_message(QueueUrl=url, MessageBody=body, MessageGroupId=body[0])
    first = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=2)["Messages"]
    print("a:", [message["Body"] for message in first])
    second = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=2)["Messages"]
    print("while a is locked:", [message["Body"] for message in second])
    sqs.delete_queue(QueueUrl=url)


if __name__ == "__main__":
    main()
