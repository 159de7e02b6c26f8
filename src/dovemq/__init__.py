"""DoveMQ: a self-hosted message queue service that speaks the SQS protocol."""
