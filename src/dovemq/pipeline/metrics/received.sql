-- What the figures of order need, stream by stream, in the order of first receives.
SELECT queue, sender, leased_us // {window_us} AS "window", send_seq, sent_us
FROM messages
WHERE leased_us IS NOT NULL
ORDER BY queue, sender, leased_us, front_end, receive_seq
