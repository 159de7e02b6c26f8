-- From messages, answers and order to figures at three levels: windows of a queue, queues, all.
-- Sums are of integers and quantiles are members of the distribution: nothing depends on an order.
CREATE TEMP TABLE facts AS
SELECT queue, sent_us // {window_us} AS "window", 'waiting' AS measure,
    {waiting} AS value, 1 AS count, leased_us - sent_us AS total
FROM messages WHERE leased_us - sent_us IS NOT NULL
UNION ALL
SELECT queue, sent_us // {window_us}, 'sojourn', {sojourn}, 1, left_us - sent_us
FROM messages WHERE left_us - sent_us IS NOT NULL
UNION ALL
SELECT queue, "window", kinds.time, value, answers.requests, total
FROM answers JOIN kinds USING (event)
WHERE value IS NOT NULL;

CREATE TEMP TABLE times AS
WITH levels AS (
    SELECT
        CASE grouping(queue, "window") WHEN 0 THEN 'window' WHEN 1 THEN 'queue' ELSE 'overall' END
            AS level,
        queue, "window", measure, value, sum(count)::BIGINT AS count, sum(total) AS total
    FROM facts
    GROUP BY GROUPING SETS (
        (queue, "window", measure, value), (queue, measure, value), (measure, value)
    )
),
placed AS (
    SELECT
        *,
        sum(count) OVER (PARTITION BY level, queue, "window", measure ORDER BY value) AS upto,
        sum(count) OVER (PARTITION BY level, queue, "window", measure) AS counted
    FROM levels
)
SELECT
    level,
    queue,
    "window",
    measure,
    sum(total)::DOUBLE / sum(count)::DOUBLE AS mean_us,
    min(value) FILTER (upto * 100 >= counted * 50) AS p50_us,
    min(value) FILTER (upto * 100 >= counted * 95) AS p95_us,
    min(value) FILTER (upto * 100 >= counted * 99) AS p99_us
FROM placed
GROUP BY level, queue, "window", measure;

CREATE TEMP TABLE counters AS
WITH by_send AS (
    SELECT
        queue,
        sent_us // {window_us} AS "window",
        count(*) AS messages,
        count(*) FILTER (leased_us IS NULL) AS absent,
        count(*) FILTER (corrupted) AS corrupted
    FROM messages
    WHERE sent_us IS NOT NULL
    GROUP BY ALL
),
by_receive AS (
    SELECT
        queue,
        coalesce(leased_us, left_us) // {window_us} AS "window",
        count(leased_us) AS received,
        count(*) FILTER (sent_us IS NULL) AS unsent
    FROM messages
    WHERE leased_us IS NOT NULL OR sent_us IS NULL
    GROUP BY ALL
),
counted AS (
    FROM (UNPIVOT by_send ON messages, absent, corrupted INTO NAME measure VALUE count)
    UNION ALL
    FROM (UNPIVOT by_receive ON received, unsent INTO NAME measure VALUE count)
    UNION ALL
    SELECT queue, NULL, measure, count
    FROM (
        UNPIVOT (
            SELECT queue, 1 AS streams, renumbered::INTEGER AS renumbered, ordered, out_of_order,
                displacement
            FROM orders WHERE "window" IS NULL
        )
        ON streams, renumbered, ordered, out_of_order, displacement
        INTO NAME measure VALUE count
    )
    UNION ALL
    SELECT queue, "window", 'window_' || measure, count
    FROM (
        UNPIVOT (FROM orders WHERE "window" IS NOT NULL) ON ordered, out_of_order, displacement
        INTO NAME measure VALUE count
    )
    UNION ALL
    SELECT queue, "window", kinds.requests, answers.requests FROM answers JOIN kinds USING (event)
    UNION ALL
    SELECT queue, "window", kinds.rows, answers.rows FROM answers JOIN kinds USING (event)
    UNION ALL
    SELECT queue, "window", event, rows FROM answers WHERE event IN ('expired', 'redriven')
    UNION ALL
    SELECT queue, "window", 'unnamed', unnamed FROM answers WHERE event <> 'missed'
)
SELECT
    CASE grouping(queue, "window") WHEN 0 THEN 'window' WHEN 1 THEN 'queue' ELSE 'overall' END
        AS level,
    queue, "window", measure, sum(count)::BIGINT AS count
FROM counted
GROUP BY GROUPING SETS ((queue, "window", measure), (queue, measure), (measure))
HAVING level <> 'window' OR "window" IS NOT NULL;

-- The number in a queue, from arrivals and departures alone. What was there before the trace
-- began is what was seen without a send, or as much as keeps the number from falling below zero.
CREATE TEMP TABLE flow AS
WITH moved AS (
    SELECT
        queue,
        "window",
        coalesce(sum(rows) FILTER (event = 'sent'), 0) AS arrived,
        coalesce(sum(rows) FILTER (event IN ('settled', 'expired', 'redriven')), 0) AS gone,
        coalesce(sum(offset_us) FILTER (event = 'sent'), 0) AS arrived_us,
        coalesce(sum(offset_us) FILTER (event IN ('settled', 'expired', 'redriven')), 0)
            AS gone_us,
        min(first_us) AS first_us,
        max(last_us) AS last_us
    FROM answers
    GROUP BY queue, "window"
),
balanced AS (
    SELECT
        *,
        sum(arrived - gone) OVER (PARTITION BY queue ORDER BY "window") AS balance,
        min(first_us) OVER (PARTITION BY queue) AS began_us,
        max(last_us) OVER (PARTITION BY queue) AS ended_us
    FROM moved
)
SELECT
    balanced.*,
    greatest(coalesce(unsent.count, 0), -min(balance) OVER (PARTITION BY balanced.queue)) AS before,
    greatest(balanced."window" * {window_us}, began_us) AS from_us,
    least((balanced."window" + 1) * {window_us}, ended_us) AS to_us
FROM balanced
LEFT JOIN counters AS unsent
    ON unsent.level = 'queue' AND unsent.measure = 'unsent' AND unsent.queue = balanced.queue;

CREATE TEMP TABLE spans AS
SELECT
    'window' AS level,
    queue,
    "window",
    from_us AS first_us,
    to_us AS last_us,
    (before + balance - arrived + gone) * (to_us - from_us)
        + (arrived - gone) * (to_us - "window" * {window_us}) - arrived_us + gone_us AS area_us,
    before + balance AS number_last,
    arrived
FROM flow
UNION ALL
SELECT
    'queue',
    queue,
    NULL,
    any_value(began_us),
    any_value(ended_us),
    any_value(before * (ended_us - began_us)) + sum(
        (arrived - gone) * (ended_us - "window" * {window_us}) - arrived_us + gone_us
    ),
    any_value(before) + sum(arrived - gone),
    sum(arrived)
FROM flow
GROUP BY queue
UNION ALL
SELECT
    'overall',
    NULL,
    NULL,
    any_value(edges.first_us),
    any_value(edges.last_us),
    any_value(edges.before * (edges.last_us - edges.first_us)) + sum(
        (arrived - gone) * (edges.last_us - "window" * {window_us}) - arrived_us + gone_us
    ),
    any_value(edges.before) + sum(arrived - gone),
    sum(arrived)
FROM flow, (
    SELECT
        (SELECT sum(before) FROM (SELECT DISTINCT queue, before FROM flow)) AS before,
        min(began_us) AS first_us,
        max(ended_us) AS last_us
    FROM flow
) AS edges
HAVING count(*) > 0;

CREATE TEMP TABLE figures AS
WITH counts AS (
    PIVOT counters
    ON measure IN (
        {counters}
    )
    USING coalesce(sum(count), 0)::BIGINT
    GROUP BY level, queue, "window"
),
quantiles AS (
    PIVOT times
    ON measure IN ('send', 'receive', 'miss', 'settle', 'waiting', 'sojourn')
    USING
        any_value(mean_us) AS mean_us,
        any_value(p50_us) AS p50_us,
        any_value(p95_us) AS p95_us,
        any_value(p99_us) AS p99_us
    GROUP BY level, queue, "window"
)
SELECT
    spans.level,
    spans.queue,
    spans."window" * {window_us} AS window_start_us,
    first_us,
    last_us,
    (last_us - first_us) / 1e6 AS seconds,
    counts.* EXCLUDE (level, queue, "window"),
    {rates},
    quantiles.* EXCLUDE (level, queue, "window"),
    area_us::DOUBLE / nullif(last_us - first_us, 0) AS number_mean,
    number_last::BIGINT AS number_last,
    area_us::DOUBLE / nullif(arrived * sojourn_mean_us, 0) AS little_ratio
FROM spans
JOIN counts
    ON counts.level = spans.level
    AND counts.queue IS NOT DISTINCT FROM spans.queue
    AND counts."window" IS NOT DISTINCT FROM spans."window"
LEFT JOIN quantiles
    ON quantiles.level = spans.level
    AND quantiles.queue IS NOT DISTINCT FROM spans.queue
    AND quantiles."window" IS NOT DISTINCT FROM spans."window";
