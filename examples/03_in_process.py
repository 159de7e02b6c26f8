"""The same queues inside this process, without a server and without HTTP.

`memory://` keeps messages until the block ends; a directory keeps them for good. Prints:

    first try of: fragile parcel
    second try of: fragile parcel
    waiting: 0
"""

import dovemq


def main() -> None:
    with dovemq.open("memory://") as mq:
        parcels = mq.create("parcels", lease=30)
        parcels.send("fragile parcel", attributes={"weight": 3})
        [message] = parcels.receive()
        print("first try of:", message.body)
        message.release()
        [message] = parcels.receive()
        print("second try of:", message.body)
        message.settle()
        print("waiting:", parcels.counts().visible)


if __name__ == "__main__":
    main()
