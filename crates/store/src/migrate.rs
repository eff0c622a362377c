//! Migrations: the numbered steps from an empty database to the current tables. Forward only and never edited: the database and
//! `migrations/checksums.txt` have the checksum of each file.
//!
//! The files use placeholders where the engines differ: `{key}` for an auto-increment primary key, `{number}` for a
//! primary key whose values may be reused after the row is deleted, `{int}`, `{real}`, `{bool}`, `{text}`, `{uuid}`,
//! `{blob}`, `{strict}` at the end of a table, `{clustered}` instead of it for a table that is stored in the order of
//! its primary key if the engine supports it, `{search TABLE}` for a substring index on name and slug, and
//! `{config_env}` and `{config_without_env}` for parts of the JSON of a job.

use sha2::{Digest, Sha256};

use crate::{
    columns::columns,
    error::{Error, Result},
    tx::Tx,
};

/// Version of this release.
pub(crate) const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// Number, name and text of a migration.
type Migration = (i64, &'static str, &'static str);

/// All migrations. `migrations/checksums.txt` has their checksums.
const MIGRATIONS: &[Migration] = &[
    (1, "accounts", include_str!("../migrations/0001_accounts.sql")),
    (2, "projects", include_str!("../migrations/0002_projects.sql")),
    (3, "reports", include_str!("../migrations/0003_reports.sql")),
    (4, "registry", include_str!("../migrations/0004_registry.sql")),
    (5, "jobs", include_str!("../migrations/0005_jobs.sql")),
    (6, "identity", include_str!("../migrations/0006_identity.sql")),
    (7, "plans", include_str!("../migrations/0007_plans.sql")),
    (8, "feed", include_str!("../migrations/0008_feed.sql")),
    (9, "notices", include_str!("../migrations/0009_notices.sql")),
    (10, "changes", include_str!("../migrations/0010_changes.sql")),
    (11, "outbox", include_str!("../migrations/0011_outbox.sql")),
    (12, "access", include_str!("../migrations/0012_access.sql")),
    (13, "lanes", include_str!("../migrations/0013_lanes.sql")),
    (14, "p_values", include_str!("../migrations/0014_p_values.sql")),
    (15, "factors", include_str!("../migrations/0015_factors.sql")),
    (16, "events", include_str!("../migrations/0016_events.sql")),
    (17, "notice_filter", include_str!("../migrations/0017_notice_filter.sql")),
    (18, "event_alerts", include_str!("../migrations/0018_event_alerts.sql")),
    (19, "mutes", include_str!("../migrations/0019_mutes.sql")),
    (20, "measure_direction", include_str!("../migrations/0020_measure_direction.sql")),
    (21, "newest_runs", include_str!("../migrations/0021_newest_runs.sql")),
    (22, "bisections", include_str!("../migrations/0022_bisections.sql")),
    (23, "confirmations", include_str!("../migrations/0023_confirmations.sql")),
    (24, "code_host", include_str!("../migrations/0024_code_host.sql")),
    (25, "job_warnings", include_str!("../migrations/0025_job_warnings.sql")),
    (26, "report_average", include_str!("../migrations/0026_report_average.sql")),
    (27, "bisection_searches", include_str!("../migrations/0027_bisection_searches.sql")),
];

/// Tables with a search index.
pub(crate) const SEARCH_INDEX_TABLES: [&str; 4] = ["branch", "testbed", "benchmark", "measure"];

columns! {
    /// A migration that was applied to a database.
    #[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
    pub(crate) struct AppliedMigration {
        pub(crate) number: i64 = "number",
        pub(crate) name: String = "name",
        pub(crate) checksum: String = "checksum",
        /// Release that applied the migration; `None` before releases were recorded.
        pub(crate) release: Option<String> = "release",
    }
}

/// Returns the migrations that were applied to a database, in order.
pub(crate) fn applied(tx: &mut Tx<'_>) -> Result<Vec<AppliedMigration>> {
    let sql = if has_release_column(tx)? {
        "select {columns} from migration order by number"
    } else {
        "select number, name, checksum, cast(null as text) from migration order by number"
    };
    tx.fetch_all(sql, &[])
}

/// Returns the number of the newest migration of this release: the version of the schema.
pub(crate) fn schema() -> i64 {
    MIGRATIONS.last().map_or(0, |(number, ..)| *number)
}

/// Returns all migrations of this release.
#[cfg(test)]
pub(crate) fn known() -> Vec<AppliedMigration> {
    let known = |(number, name, text): &Migration| AppliedMigration {
        number: *number,
        name: (*name).to_owned(),
        checksum: digest(text),
        release: Some(RELEASE.to_owned()),
    };
    MIGRATIONS.iter().map(known).collect()
}

/// Rejects a database that this release cannot open, based on its applied migrations.
pub(crate) fn verify(done: &[AppliedMigration]) -> Result<()> {
    let known = |number| MIGRATIONS.iter().find(|(known, ..)| *known == number);
    if let Some(newest) = done.last()
        && known(newest.number).is_none()
    {
        let (writer, remedy) = match &newest.release {
            // Two builds of one version, before its release.
            Some(release) if release == RELEASE => {
                (format!("a newer build of Tidemark {release}"), "start the newer build".to_owned())
            }
            Some(release) => (format!("Tidemark {release}"), format!("install Tidemark {release} or newer")),
            None => ("a newer release".to_owned(), "install the newer release".to_owned()),
        };
        return Err(Error::engine(format!(
            "{writer} wrote the database with schema {}, and this is Tidemark {RELEASE} with schema {}; {remedy}, or restore a \
             backup that Tidemark {RELEASE} or an older release made",
            newest.number,
            schema(),
        )));
    }
    for AppliedMigration { number, name, checksum, release } in done {
        if known(*number).is_some_and(|(_, _, text)| *checksum == digest(text)) {
            continue;
        }
        let build = release.as_ref().map_or_else(String::new, |release| format!(" of Tidemark {release}"));
        return Err(Error::engine(format!(
            "an unreleased build{build} wrote the database: the checksum of its migration {number} ({name}) differs from the \
             checksum in Tidemark {RELEASE}, and so do its backups; start that build, and send the data to a new server of this \
             release with its `tidemark push`"
        )));
    }
    Ok(())
}

/// Creates the table of migrations, rejects a database that this release cannot open, and returns the migrations to apply. The
/// caller holds a lock and a transaction.
pub(crate) fn pending(tx: &mut Tx<'_>) -> Result<Pending> {
    tx.batch(&replace_placeholders(
        "create table if not exists migration (number {int} primary key, name {text} not null, \
         checksum {text} not null, release {text}) {strict}",
        tx.is_postgres(),
    ))?;
    if !has_release_column(tx)? {
        tx.batch(&replace_placeholders("alter table migration add column release {text}", tx.is_postgres()))?;
    }
    let done = applied(tx)?;
    verify(&done)?;
    Ok(Pending { applied: done.len() })
}

/// Creates the tables of an archive: applies the given migrations to an empty database.
pub(crate) fn create(tx: &mut Tx<'_>, migrations: &[AppliedMigration]) -> Result<()> {
    verify(migrations)?;
    if pending(tx)?.applied > 0 {
        return Err(Error::engine("the database has tables already"));
    }
    apply(tx, &MIGRATIONS[..migrations.len()])
}

/// Migrations that were not applied yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    applied: usize,
}

impl Pending {
    /// Whether the database has tables that the migrations change.
    pub(crate) fn is_upgrade(self) -> bool {
        self.applied > 0 && self.applied < MIGRATIONS.len()
    }

    /// Applies the migrations.
    pub(crate) fn apply(self, tx: &mut Tx<'_>) -> Result<()> {
        apply(tx, &MIGRATIONS[self.applied..])
    }
}

fn apply(tx: &mut Tx<'_>, migrations: &[Migration]) -> Result<()> {
    for (number, name, text) in migrations {
        tx.batch(&replace_placeholders(text, tx.is_postgres()))?;
        tx.execute(
            "insert into migration (number, name, checksum, release) values ($1, $2, $3, $4)",
            &[number, name, &digest(text), &RELEASE],
        )?;
        tracing::info!(number, name, "applied migration");
    }
    Ok(())
}

/// Whether the table of migrations has releases. Earlier builds did not record them.
fn has_release_column(tx: &mut Tx<'_>) -> Result<bool> {
    let columns = if tx.is_postgres() {
        "select count(*) from information_schema.columns
         where table_schema = current_schema() and table_name = 'migration' and column_name = 'release'"
    } else {
        "select count(*) from pragma_table_info('migration') where name = 'release'"
    };
    Ok(tx.value::<i64>(columns, &[])? > 0)
}

fn replace_placeholders(text: &str, postgres: bool) -> String {
    let pairs = if postgres {
        [
            ("{key}", "bigint generated by default as identity primary key"),
            ("{number}", "bigint generated by default as identity primary key"),
            ("{int}", "bigint"),
            ("{real}", "double precision"),
            ("{bool}", "boolean"),
            // Byte order, as in SQLite, independent of the locale of the server.
            ("{text}", "text collate \"C\""),
            ("{uuid}", "uuid"),
            ("{blob}", "bytea"),
            ("{strict}", ""),
            ("{clustered}", ""),
            // `jsonb` cannot contain NUL, which earlier releases accepted.
            ("{config_env}", r"cast(cast(replace(config, '\u0000', '\ufffd') as jsonb) -> 'env' as text)"),
            (
                "{config_without_env}",
                r"cast(cast(replace(config, '\u0000', '\ufffd') as jsonb) - 'env' as text)",
            ),
        ]
    } else {
        [
            // Never reuses a key, as in PostgreSQL.
            ("{key}", "integer primary key autoincrement"),
            ("{number}", "integer primary key"),
            ("{int}", "integer"),
            ("{real}", "real"),
            ("{bool}", "integer"),
            ("{text}", "text"),
            ("{uuid}", "text"),
            ("{blob}", "blob"),
            ("{strict}", "strict"),
            ("{clustered}", "strict, without rowid"),
            ("{config_env}", "json_extract(config, '$.env')"),
            ("{config_without_env}", "json_remove(config, '$.env')"),
        ]
    };
    let text = pairs.iter().fold(text.to_owned(), |text, (word, meaning)| text.replace(word, meaning));
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once("{search ") {
        let Some((table, after)) = after.split_once('}') else { break };
        out.push_str(before);
        out.push_str(&search_index(table, postgres));
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Returns the statements for a trigram index on the name and the slug; see `Tx::matching`.
fn search_index(table: &str, postgres: bool) -> String {
    if postgres {
        return format!(
            "create extension if not exists pg_trgm;
             create index {table}_search on {table} using gin ((lower(name) || chr(10) || slug) gin_trgm_ops);"
        );
    }
    format!(
        "create virtual table {table}_search using fts5(text, content='', contentless_delete=1, tokenize='trigram');
         create trigger {table}_search_insert after insert on {table} begin
             insert into {table}_search (rowid, text) values (new.id, new.name || char(10) || new.slug);
         end;
         create trigger {table}_search_update after update of name, slug on {table} begin
             update {table}_search set text = new.name || char(10) || new.slug where rowid = new.id;
         end;
         create trigger {table}_search_delete after delete on {table} begin
             delete from {table}_search where rowid = old.id;
         end;"
    )
}

fn digest(text: &str) -> String {
    hex::encode(Sha256::digest(text))
}

#[cfg(test)]
mod tests {
    use std::{
        collections::{BTreeMap, BTreeSet},
        env,
        fmt::Write,
        fs,
    };

    use super::*;

    const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations");
    /// Environment variable that adds the checksums of new files to the list.
    const UPDATE: &str = "TIDEMARK_UPDATE_DOCS";

    /// First migration that must be additive. Earlier ones are older than the first fixture.
    const FIRST_ADDITIVE: i64 = 22;

    /// Returns why running servers of the release before cannot continue after a statement; `None` if they can.
    fn conflict(statement: &str) -> Option<&'static str> {
        let words: Vec<&str> = statement.split_whitespace().collect();
        match words.as_slice() {
            ["create", "table" | "index", ..]
            | ["create", "unique", "index", ..]
            | ["insert", "into", ..]
            | ["update", ..] => None,
            // Queries only take longer without it. `on conflict` needs a unique index.
            ["drop", "index", index] => {
                let created = format!("create unique index {index} ");
                MIGRATIONS
                    .iter()
                    .any(|(.., text)| text.contains(&created))
                    .then_some("it drops a unique index")
            }
            ["alter", "table", _, "add", "column", _, _, rest @ ..] => {
                let is_required = rest.windows(2).any(|words| words == ["not", "null"]);
                (is_required && !rest.contains(&"default"))
                    .then_some("the inserts of old servers have no value")
            }
            _ => Some("it changes or removes what old servers use"),
        }
    }

    #[test]
    fn migrations_only_add() {
        for (number, name, text) in MIGRATIONS.iter().filter(|(number, ..)| *number >= FIRST_ADDITIVE) {
            let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("--")).collect();
            for statement in code.join("\n").split(';').map(str::trim).filter(|text| !text.is_empty()) {
                let found = conflict(statement);
                assert_eq!(
                    found, None,
                    "{number:04}_{name}.sql: servers of the release before run on: {statement}"
                );
            }
        }
        for statement in [
            "drop table job",
            "drop index report_uuid",
            "alter table job drop column config",
            "alter table job rename column config to settings",
            "alter table job add column rounds {int} not null",
        ] {
            assert!(conflict(statement).is_some(), "{statement}");
        }
    }

    #[test]
    fn the_tables_with_a_search_index_are_known() {
        let text: String = MIGRATIONS.iter().map(|(.., text)| *text).collect();
        let tables: Vec<_> =
            text.split("{search ").skip(1).filter_map(|rest| Some(rest.split_once('}')?.0)).collect();
        assert_eq!(tables, SEARCH_INDEX_TABLES);
    }

    #[test]
    fn every_file_is_a_migration() {
        let files: BTreeSet<_> = fs::read_dir(FOLDER)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".sql"))
            .collect();
        let listed = MIGRATIONS.iter().map(|(number, name, _)| format!("{number:04}_{name}.sql")).collect();
        assert_eq!(files, listed);
        let numbers = MIGRATIONS.iter().map(|(number, ..)| *number);
        assert!(numbers.eq(1..=MIGRATIONS.len() as i64), "the numbers of migrations have a gap");
    }

    /// The list has the format of sha256sum, which can check it, too.
    #[test]
    fn a_migration_never_changes() {
        let path = format!("{FOLDER}/checksums.txt");
        let mut list = fs::read_to_string(&path).unwrap();
        let known: BTreeMap<String, String> = list
            .lines()
            .map(|line| line.split_once("  ").expect("a checksum, two spaces and a file name"))
            .map(|(checksum, file)| (file.to_owned(), checksum.to_owned()))
            .collect();
        let mut added = false;
        for (number, name, text) in MIGRATIONS {
            let file = format!("{number:04}_{name}.sql");
            match known.get(&file) {
                Some(checksum) => assert_eq!(
                    *checksum,
                    digest(text),
                    "{file} changed. Databases with the old file could not be opened: revert the change, and add a new \
                     migration instead. Only if no other build has applied the file, edit its line in checksums.txt"
                ),
                None if env::var_os(UPDATE).is_some() => {
                    writeln!(list, "{}  {file}", digest(text)).unwrap();
                    added = true;
                }
                None => panic!("{file} is not in checksums.txt; run this test with {UPDATE}=1 to add it"),
            }
        }
        assert!(known.len() <= MIGRATIONS.len(), "checksums.txt lists a file that does not exist");
        if added {
            fs::write(path, list).unwrap();
        }
    }
}
