"""Workers of workflows: functions and commands that do the tasks of topics, over HTTP alone.

`task` makes a function one that serves a topic. `dovemq workflow worker` runs such functions; in
a program, `TopicWorker` does.
"""

from dovemq.workflows.calls import GiveUp as GiveUp
from dovemq.workflows.calls import TaskCall as TaskCall
from dovemq.workflows.tasks import TopicTask as TopicTask
from dovemq.workflows.tasks import task as task
from dovemq.workflows.worker import TopicWorker as TopicWorker
