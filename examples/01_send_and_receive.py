"""Send, receive and delete through boto3, against a running server.

Run `eval "$(dovemq env)"` first. Prints:

    received: tea for two
    left: 0
"""

import boto3


def main() -> None:
    sqs = boto3.client("sqs")
    url = sqs.create_queue(QueueName="example-orders")["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="tea for two")
    answer = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=5)
    for message in answer.get("Messages", []):
        print("received:", message["Body"])
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    counted = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"])
    print("left:", counted["Attributes"]["ApproximateNumberOfMessages"])
    sqs.delete_queue(QueueUrl=url)


if __name__ == "__main__":
    main()
