-- Ties of time are broken by the front end and its own count of leases.
SELECT * FROM messages ORDER BY leased_us, front_end, receive_seq
