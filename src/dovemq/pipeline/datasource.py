"""The format `dovemq` of Spark: `register(spark)`, then `spark.readStream.format("dovemq")`.

Only the composition: options in, readers and writers out.
"""

import secrets

from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
)
from pyspark.sql.types import StructType

from dovemq.pipeline.source import options
from dovemq.pipeline.source.columns import DDL, check_columns
from dovemq.pipeline.source.errors import OptionRefused
from dovemq.pipeline.source.reader import DrainReader, PeekReader, StreamReader
from dovemq.pipeline.source.receiving import receiving
from dovemq.pipeline.source.rows import check_schema
from dovemq.pipeline.source.writer import BatchWriter, Sink, StreamWriter

FORMAT = "dovemq"


class DoveDataSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return DDL

    def streamReader(self, schema: StructType) -> StreamReader:
        names = self._checked(schema.fieldNames())
        folder, pace = options.staging_of(self.options), options.pace_of(self.options)
        return StreamReader(options.server_of(self.options), folder, pace, names)

    def reader(self, schema: StructType) -> DataSourceReader:
        names = self._checked(schema.fieldNames())
        server = options.server_of(self.options)
        if options.mode_of(self.options) == options.PEEK:
            return PeekReader(server, options.peeked_max(self.options), names)
        folder, pace = options.staging_of(self.options), options.pace_of(self.options)
        return DrainReader(server, folder, pace, names)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        return BatchWriter(self._sink(schema, overwrite), secrets.token_hex(16))

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:
        return StreamWriter(self._sink(schema, overwrite))

    def _sink(self, schema: StructType, overwrite: bool) -> Sink:
        options.check_names(self.options)
        check_schema(schema)
        if overwrite:
            raise OptionRefused("mode", "of a write must be append: a queue is not replaced")
        server = options.server_of(self.options)
        group_id = self.options.get("groupId")
        if server.fifo and group_id is None and "group_id" not in schema.fieldNames():
            raise OptionRefused("groupId", "or a column group_id is needed by a FIFO queue")
        return Sink(server, group_id, options.senders_of(self.options))

    def _checked(self, names: list[str]) -> list[str]:
        options.check_names(self.options)
        check_columns(names)
        return names


def register(spark: SparkSession) -> None:
    spark.dataSource.register(DoveDataSource)


def settle(**given: str) -> int:
    """Settles what a drain has staged, once its rows are safe; the number of epochs.

    Takes the options of the read. Without it the next drain reads the same messages again.
    """
    options.check_names(given)
    folder = options.staging_of(given)
    with receiving(options.server_of(given), folder, options.pace_of(given)) as at_work:
        count = at_work.last - at_work.settled
        at_work.finish(at_work.last)
    return count
