//! The tables, and the migrations that bring an older file up to date, one transaction each.
//! It must not know the statements that fill or read the tables.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::error::StoreError;

/// Marks the file as a store of this tool (`PRAGMA application_id`): the letters `nben`.
pub const APPLICATION_ID: i32 = 0x6e62_656e;

/// The schema version that this build writes, kept in `PRAGMA user_version`.
pub const SCHEMA_VERSION: i64 = MIGRATIONS.len() as i64;

/// Entry `n` brings a file from version `n` to `n + 1`. A released entry never changes again.
const MIGRATIONS: &[&str] = &[include_str!("schema_1.sql")];

/// Looks at the file without changing it and returns its schema version, 0 for an empty file.
pub(crate) fn check_version(connection: &Connection, what: &str) -> Result<i64, StoreError> {
    let integer = |sql: &str| {
        connection
            .query_row(sql, [], |row| row.get::<_, i64>(0))
            .map_err(|error| StoreError::from_sqlite(what, error))
    };
    // In one transaction: another process may be creating the store at this moment, and the version
    // from before it beside the tables from after it are those of no store.
    let together =
        connection.unchecked_transaction().map_err(|error| StoreError::from_sqlite(what, error))?;
    let version = integer("PRAGMA user_version")?;
    let application = integer("PRAGMA application_id")?;
    let tables = integer("SELECT count(*) FROM sqlite_schema")?;
    drop(together);
    let fresh = version == 0 && application == 0 && tables == 0;
    if !fresh && application != i64::from(APPLICATION_ID) {
        return Err(StoreError::damaged(what, "it is a database of another program"));
    }
    if version > SCHEMA_VERSION {
        return Err(StoreError::newer(what, version, SCHEMA_VERSION));
    }
    Ok(version)
}

/// Brings the file to [`SCHEMA_VERSION`].
pub(crate) fn migrate(connection: &mut Connection, what: &str) -> Result<(), StoreError> {
    migrate_through(connection, MIGRATIONS).map_err(|error| StoreError::from_sqlite(what, error))
}

fn migrate_through(connection: &mut Connection, migrations: &[&str]) -> rusqlite::Result<()> {
    let current = |connection: &Connection| -> rusqlite::Result<usize> {
        connection
            .query_row("PRAGMA user_version", [], |row| row.get::<_, u32>(0))
            .map(|version| version as usize)
    };
    while current(connection)? < migrations.len() {
        let transaction = Transaction::new(connection, TransactionBehavior::Immediate)?;
        // Read again under the write lock: another process may have migrated in between.
        let version = current(&transaction)?;
        if let Some(migration) = migrations.get(version) {
            transaction.execute_batch(migration)?;
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
            transaction.pragma_update(None, "user_version", version as i64 + 1)?;
        }
        transaction.commit()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(connection: &Connection) -> i64 {
        connection.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn a_failing_migration_leaves_the_version_before_it() {
        let mut connection = Connection::open_in_memory().unwrap();
        let migrations = ["CREATE TABLE a(x)", "CREATE TABLE b(x); CREATE TABLE a(y)"];
        assert!(migrate_through(&mut connection, &migrations).is_err());
        assert_eq!(version(&connection), 1);
        let tables: i64 = connection
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .unwrap();
        assert_eq!(tables, 1, "table b must be rolled back");
    }

    #[test]
    fn later_migrations_keep_the_data_of_earlier_ones() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate_through(&mut connection, &["CREATE TABLE a(x)"]).unwrap();
        connection.execute("INSERT INTO a VALUES (7)", []).unwrap();
        let migrations = ["CREATE TABLE a(x)", "ALTER TABLE a ADD COLUMN y DEFAULT 8"];
        migrate_through(&mut connection, &migrations).unwrap();
        let row: (i64, i64) = connection
            .query_row("SELECT x, y FROM a", [], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap();
        assert_eq!((row, version(&connection)), ((7, 8), 2));
    }

    #[test]
    fn every_reference_to_another_table_holds() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate_through(&mut connection, MIGRATIONS).unwrap();
        let mut check = connection.prepare("PRAGMA foreign_key_check").unwrap();
        assert!(check.query([]).unwrap().next().unwrap().is_none());
    }
}
