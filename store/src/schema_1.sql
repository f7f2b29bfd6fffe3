-- Times are Unix time; durations and costs are nanoseconds; ratios are fractions; JSON is kept as text.
CREATE TABLE host (
    key        TEXT PRIMARY KEY,
    summary    TEXT NOT NULL,
    components TEXT NOT NULL CHECK (json_valid(components))
) STRICT;

CREATE TABLE toolchain (
    key        TEXT PRIMARY KEY,
    summary    TEXT NOT NULL,
    components TEXT NOT NULL CHECK (json_valid(components))
) STRICT;

-- A snapshot of a working tree has a row too, under the hash of its snapshot commit. The tree is kept because a
-- squash or a rebase that leaves the tree alone leaves its measurements valid.
CREATE TABLE revision (
    hash           TEXT PRIMARY KEY,
    tree           TEXT NOT NULL,
    parents        TEXT NOT NULL,
    author_time    INTEGER NOT NULL,
    committer_time INTEGER NOT NULL,
    subject        TEXT NOT NULL
) STRICT;
CREATE INDEX revision_tree ON revision (tree);

CREATE TABLE run (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    command        TEXT NOT NULL CHECK (command IN ('run', 'ab')),
    host           TEXT NOT NULL REFERENCES host (key),
    toolchain      TEXT NOT NULL REFERENCES toolchain (key),
    started_at     INTEGER NOT NULL,
    finished_at    INTEGER,
    pid            INTEGER NOT NULL,
    engine_version TEXT NOT NULL,
    settings       TEXT NOT NULL CHECK (json_valid(settings)),
    seed           INTEGER NOT NULL,
    dirty_digest   TEXT,
    state          TEXT NOT NULL CHECK (state IN ('running', 'finished', 'interrupted', 'failed')),
    details        TEXT NOT NULL CHECK (json_valid(details))
) STRICT;

CREATE TABLE benchmark (
    id      INTEGER PRIMARY KEY,
    package TEXT NOT NULL,
    target  TEXT NOT NULL,
    name    TEXT NOT NULL,
    tags    TEXT NOT NULL CHECK (json_valid(tags)),
    UNIQUE (package, target, name)
) STRICT;

CREATE TABLE measurement (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    run          INTEGER NOT NULL REFERENCES run (id),
    benchmark    INTEGER NOT NULL REFERENCES benchmark (id),
    revision     TEXT NOT NULL REFERENCES revision (hash),
    dirty_digest TEXT,
    unit         TEXT NOT NULL,
    estimate     REAL,
    low          REAL,
    high         REAL,
    confidence   REAL,
    launches     INTEGER,
    samples      INTEGER,
    iters        INTEGER,
    stop         TEXT,
    throughput   TEXT CHECK (throughput IS NULL OR json_valid(throughput)),
    state        TEXT NOT NULL CHECK (state IN ('partial', 'complete')),
    details      TEXT NOT NULL CHECK (json_valid(details)),
    CHECK ((low IS NULL) = (high IS NULL)),
    CHECK (state = 'partial' OR estimate IS NOT NULL)
) STRICT;
CREATE INDEX measurement_run ON measurement (run);
CREATE INDEX measurement_benchmark ON measurement (benchmark, revision);

CREATE TABLE measurement_launch (
    measurement INTEGER NOT NULL REFERENCES measurement (id) ON DELETE CASCADE,
    launch      INTEGER NOT NULL,
    iters       INTEGER NOT NULL,
    count       INTEGER NOT NULL,
    samples     BLOB NOT NULL CHECK (length(samples) = 8 * count),
    spent       INTEGER NOT NULL,
    PRIMARY KEY (measurement, launch)
) STRICT, WITHOUT ROWID;

CREATE TABLE comparison (
    id                     INTEGER PRIMARY KEY AUTOINCREMENT,
    run                    INTEGER NOT NULL REFERENCES run (id),
    benchmark              INTEGER NOT NULL REFERENCES benchmark (id),
    reference              TEXT NOT NULL REFERENCES revision (hash),
    reference_label        TEXT NOT NULL,
    reference_dirty_digest TEXT,
    contender              TEXT NOT NULL REFERENCES revision (hash),
    contender_label        TEXT NOT NULL,
    contender_dirty_digest TEXT,
    change                 REAL,
    low                    REAL,
    high                   REAL,
    confidence             REAL,
    verdict                TEXT,
    threshold              REAL NOT NULL,
    launches               INTEGER,
    pairs                  INTEGER,
    smallest               REAL,
    stop                   TEXT,
    state                  TEXT NOT NULL CHECK (state IN ('partial', 'complete')),
    details                TEXT NOT NULL CHECK (json_valid(details)),
    CHECK ((low IS NULL) = (high IS NULL)),
    CHECK (state = 'partial' OR verdict IS NOT NULL)
) STRICT;
CREATE INDEX comparison_run ON comparison (run);
CREATE INDEX comparison_benchmark ON comparison (benchmark);

-- `lead` holds one letter per pair: R when the reference ran first in it, C when the contender did.
CREATE TABLE comparison_launch (
    comparison INTEGER NOT NULL REFERENCES comparison (id) ON DELETE CASCADE,
    launch     INTEGER NOT NULL,
    iters      INTEGER NOT NULL,
    lead       TEXT NOT NULL,
    reference  BLOB NOT NULL CHECK (length(reference) = 8 * length(lead)),
    contender  BLOB NOT NULL CHECK (length(contender) = 8 * length(lead)),
    estimate   REAL NOT NULL,
    PRIMARY KEY (comparison, launch)
) STRICT, WITHOUT ROWID;

CREATE TABLE failure (
    id          INTEGER PRIMARY KEY,
    run         INTEGER NOT NULL REFERENCES run (id),
    package     TEXT NOT NULL,
    target      TEXT NOT NULL,
    benchmark   TEXT,
    side        TEXT,
    error       TEXT NOT NULL,
    stderr_tail TEXT NOT NULL
) STRICT;
CREATE INDEX failure_run ON failure (run);
