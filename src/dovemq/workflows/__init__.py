"""Workers of jobs and the resource manager that sizes their topics; both use HTTP alone."""
