"""The Spark format `dovemq`: `register(spark)`, then `spark.readStream.format("dovemq")`.

Turns options into readers and writers.
"""

import secrets
from collections.abc import Mapping
from contextlib import closing

from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
)
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from dovemq.pipeline.session import use_this_python
from dovemq.pipeline.source import options
from dovemq.pipeline.source.columns import SCHEMA, check_columns
from dovemq.pipeline.source.errors import OptionRefused
from dovemq.pipeline.source.reader import DrainReader, PeekReader, ReadPlan, StreamReader
from dovemq.pipeline.source.writer import BatchWriter, QueueSink, StreamWriter, check_schema

FORMAT = "dovemq"


class DoveDataSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        return from_arrow_schema(SCHEMA)

    def streamReader(self, schema: StructType) -> StreamReader:
        return StreamReader(_plan(self.options, self._checked(schema.fieldNames())))

    def reader(self, schema: StructType) -> DataSourceReader:
        names = self._checked(schema.fieldNames())
        if options.mode_of(self.options) == options.DRAIN:
            return DrainReader(_plan(self.options, names))
        most = options.MESSAGES.most
        count_max = options.whole(self.options, "maxMessages", most, options.PEEKED)
        readers = options.whole(self.options, "readers", 4, options.TASKS)
        return PeekReader(options.server_of(self.options), count_max, readers, names)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        return BatchWriter(self._sink(schema, overwrite), secrets.token_hex(16))

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:
        return StreamWriter(self._sink(schema, overwrite))

    def _sink(self, schema: StructType, overwrite: bool) -> QueueSink:
        options.check_names(self.options)
        check_schema(schema)
        if overwrite:
            raise OptionRefused("mode", "of a write must be append: a queue is not replaced")
        server = options.server_of(self.options)
        group_id = self.options.get("groupId")
        if server.fifo and group_id is None and "group_id" not in schema.fieldNames():
            raise OptionRefused("groupId", "or a column group_id is needed by a FIFO queue")
        senders = options.whole(self.options, "senders", 8, options.CONCURRENT)
        return QueueSink(server, group_id, senders)

    def _checked(self, names: list[str]) -> list[str]:
        options.check_names(self.options)
        check_columns(names)
        return names


def register(spark: SparkSession) -> None:
    use_this_python(spark)
    spark.dataSource.register(DoveDataSource)


def settle(**given: str) -> int:
    """Settles the messages that a drain has staged, once its rows are safe.

    Takes the options of the read. Returns 1, or 0 if nothing was staged. Without this call the next
    drain reads the same messages again.
    """
    options.check_names(given)
    with closing(_plan(given, []).driver()) as driver:
        return int(driver.run(driver.keeper.finish_staged()))


def _plan(given: Mapping[str, str], columns: list[str]) -> ReadPlan:
    server, location = options.server_of(given), options.staging_of(given)
    return ReadPlan(server, location, options.receive_options(given), columns)
