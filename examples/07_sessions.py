"""A producer and a consumer of one queue, each on a connection of its own.

On a queue that sizes itself, each is elected to a partition when it connects, and leaves it when it
is closed. Needs the variables that `dovemq env` prints.

Prints:

    received: parcel 1
    received: parcel 2
"""

from os import environ

import dovemq
from dovemq.client import BlockingSqsClient
from dovemq.client.environment import endpoint_of, key_of


def main() -> None:
    with BlockingSqsClient(endpoint_of("parcels", environ), key_of(environ)) as client:
        client.create_queue("parcels", {}, {})
    with dovemq.connect("parcels", "producer") as producer:
        producer.send("parcel 1")
        producer.send("parcel 2")
    with dovemq.connect("parcels", "consumer") as consumer:
        for message in consumer.receive(10, wait_seconds=5):
            print("received:", message.body)
            consumer.delete(message.receipt_handle)


if __name__ == "__main__":
    main()
