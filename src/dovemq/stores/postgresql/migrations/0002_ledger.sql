-- The progress of jobs. Small values that are read by pages, so they may be compressed.
CREATE TABLE ledger (
    kind    text COLLATE "C" NOT NULL,
    name    text COLLATE "C" NOT NULL,
    value   bytea            NOT NULL,
    state   text COLLATE "C" NOT NULL,
    type    text COLLATE "C" NOT NULL,
    due_ms  bigint,
    version bigint           NOT NULL,
    PRIMARY KEY (kind, name)
);

CREATE INDEX ledger_due ON ledger (kind, due_ms) WHERE due_ms IS NOT NULL;
CREATE INDEX ledger_state ON ledger (kind, state, name);
