"""One function per operation: a request of the wire, a call of the service, a response."""
