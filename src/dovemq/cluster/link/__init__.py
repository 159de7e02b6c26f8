"""The link between front ends: verbs of a partition, handed to the front end that owns it.

Each front end dials every other one, so a pair has two connections: verbs go from the side that
dialled, answers and wake-ups come back. Since nobody waits for the other side while it reads, a
slow reader on one side cannot stop both. A verb is handed on once: the side that accepts a link
asks its own partitions only.

    remote.RemotePartition ─ dialling.OutgoingLink ═ frames ═ serving.IncomingLink ─ local partition

`greeting.py` states what the handshake proves, `channel.py` how frames are protected, `verbs.py`
what travels, and `bounds.py` every bound and time of the link.
"""

from dovemq.cluster.link.dialling import Dialling
from dovemq.cluster.link.greeting import ClusterIdentity, LinkRejected, cluster_name
from dovemq.cluster.link.links import LinkStatus, PeerLinks
from dovemq.cluster.link.listener import LinkListener
from dovemq.cluster.link.secret_file import read_cluster_secret
from dovemq.cluster.link.tls import LinkCertificate, dialling_context, read_fingerprint

__all__ = [
    "ClusterIdentity",
    "Dialling",
    "LinkCertificate",
    "LinkListener",
    "LinkRejected",
    "LinkStatus",
    "PeerLinks",
    "cluster_name",
    "dialling_context",
    "read_cluster_secret",
    "read_fingerprint",
]
