CREATE TABLE schema_version (version integer NOT NULL);
INSERT INTO schema_version VALUES (0);

-- The owner of each log. Appends lock the row for a moment, so that a new epoch waits for them.
CREATE TABLE heads (
    queue     bigint  NOT NULL,
    partition integer NOT NULL,
    epoch     integer NOT NULL,
    bookmark  bigint  NOT NULL DEFAULT 0,
    PRIMARY KEY (queue, partition)
) WITH (fillfactor = 50);

CREATE TABLE groups (
    queue     bigint  NOT NULL,
    partition integer NOT NULL,
    position  bigint  NOT NULL,
    contents  bytea   NOT NULL,
    PRIMARY KEY (queue, partition, position)
) WITH (toast_tuple_target = 8160);

-- Groups are not compressed, and stay in their row up to the size of a page.
ALTER TABLE groups ALTER COLUMN contents SET STORAGE EXTERNAL;

CREATE TABLE records (
    kind    text COLLATE "C" NOT NULL,
    name    text COLLATE "C" NOT NULL,
    value   bytea            NOT NULL,
    version bigint           NOT NULL,
    PRIMARY KEY (kind, name)
);

-- One row: the number of changes of the kinds that the stamp shows.
CREATE TABLE stamps (changes bigint NOT NULL);
INSERT INTO stamps VALUES (0);
