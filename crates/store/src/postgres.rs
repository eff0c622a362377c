//! PostgreSQL: a pool of connections, each with a cache of prepared statements, called from blocking threads.

use std::{
    borrow::Cow,
    error,
    future::poll_fn,
    pin::pin,
    str::FromStr,
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

use deadpool_postgres::{
    Hook, HookError, Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime, Transaction,
};
use futures_util::TryStreamExt;
use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot},
    task::{JoinHandle, spawn_blocking},
    time::{sleep, timeout},
};
use tokio_postgres::{
    AsyncMessage, CancelToken, Config, IsolationLevel, Statement,
    config::SslMode,
    types::{IsNull, ToSql, Type, private::BytesMut, to_sql_checked},
};
use tokio_postgres_rustls::MakeRustlsConnect;
use uuid::Uuid;

use crate::{
    db::ConnectionLoad,
    error::{Error, Result},
    migrate,
    row::{OnRow, Row},
    sql::expand_lists,
    tx::Tx,
    value::{Kind, Param, Value},
};

/// Maximum time that a call waits for a connection before it fails with `Busy`.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(15);
/// Time between two attempts to cancel an abandoned transaction.
const CANCEL_INTERVAL: Duration = Duration::from_millis(100);
/// Time limit of one cancel request.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(10);
/// Limits the time that a migration waits for a table.
const MIGRATION_LOCK_TIMEOUT: &str = "set local lock_timeout = '2s'";
/// Time between two attempts to apply the migrations.
const MIGRATION_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of attempts to apply the migrations.
const MIGRATION_ATTEMPTS: usize = 40;
/// Maximum number of messages of other servers that wait to be processed.
const NOTIFICATION_QUEUE_CAPACITY: usize = 256;

#[derive(Clone)]
pub(crate) struct Postgres {
    pool: Pool,
    config: Arc<Config>,
    tls: MakeRustlsConnect,
}

/// Access mode of a transaction.
#[derive(Clone, Copy)]
pub(crate) enum Mode {
    Read,
    Write,
}

impl Postgres {
    pub(crate) async fn open(url: &str, connections: usize) -> Result<Self> {
        let mut config = Config::from_str(url)?;
        if config.get_application_name().is_none() {
            config.application_name("tidemark");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(Duration::from_secs(10));
        }
        let tls = MakeRustlsConnect::new(tls_for(config.get_ssl_mode())?);
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let pool = Pool::builder(Manager::from_config(config.clone(), tls.clone(), recycling))
            .max_size(connections)
            .wait_timeout(Some(CONNECTION_TIMEOUT))
            .runtime(Runtime::Tokio1)
            // JIT compilation takes longer than any statement of this crate.
            .post_create(Hook::async_fn(|client, _| {
                Box::pin(async { client.batch_execute("set jit = off").await.map_err(HookError::Backend) })
            }))
            .build()
            .map_err(|error| Error::Engine(error.into()))?;
        Ok(Self { pool, config: Arc::new(config), tls })
    }

    /// Applies pending migrations, under a lock. Servers of the old release may use the tables: a migration waits for a table only
    /// for a short time, because all later statements wait behind it, and then, or after a deadlock, it starts again.
    pub(crate) async fn migrate(&self) -> Result<()> {
        let mut attempt = 1;
        loop {
            let applied = self.run(Arc::default(), Mode::Write, |tx| {
                tx.lift_time_limits()?;
                // Another server may need longer than the time limit of a lock to apply the migrations.
                tx.batch("set local lock_timeout = 0")?;
                tx.each("select pg_advisory_xact_lock(0, 0)", &[], |_| Ok(()))?;
                tx.batch(MIGRATION_LOCK_TIMEOUT)?;
                migrate::pending(tx)?.apply(tx)
            });
            match applied.await {
                Err(error) if attempt < MIGRATION_ATTEMPTS && error.is_lock_conflict() => {
                    tracing::warn!(attempt, "another server uses a table that a migration changes; retrying");
                    sleep(MIGRATION_INTERVAL).await;
                    attempt += 1;
                }
                outcome => return outcome,
            }
        }
    }

    pub(crate) async fn run<T, E, F>(&self, statements: Arc<AtomicU64>, mode: Mode, work: F) -> Result<T, E>
    where
        F: FnOnce(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let mut client = self.pool.get().await.map_err(|error| match error {
            PoolError::Backend(error) => Error::from(error),
            other => Error::Busy(other.into()),
        })?;
        let handle = Handle::current();
        // The receiver is dropped with this future. The client of an abandoned request may repeat it, so nothing is
        // committed.
        let (caller, _waits) = oneshot::channel::<()>();
        let mut running = RunningTransaction {
            token: client.cancel_token(),
            tls: self.tls.clone(),
            handle: handle.clone(),
            task: None,
        };
        let task = running.task.insert(spawn_blocking(move || {
            let outcome = transact(&mut client, &handle, &statements, mode, &caller, work);
            (client, outcome)
        }));
        let joined = task.await;
        running.task = None;
        let (_client, outcome) = joined.map_err(|error| Error::Engine(error.into()))?;
        outcome
    }

    /// Passes the messages that servers send under a topic, a plain word, to `on_message`, on a separate connection.
    /// Returns when the connection ends.
    pub(crate) async fn listen(&self, topic: &str, mut on_message: impl FnMut(&str)) -> Result<()> {
        let (client, mut connection) = self.config.connect(self.tls.clone()).await?;
        let (sender, mut receiver) = mpsc::channel(NOTIFICATION_QUEUE_CAPACITY);
        tokio::spawn(async move {
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
                if let AsyncMessage::Notification(notice) = message
                    && sender.send(notice.payload().to_owned()).await.is_err()
                {
                    break;
                }
            }
        });
        client.batch_execute(&format!("listen {topic}")).await?;
        while let Some(notice) = receiver.recv().await {
            on_message(&notice);
        }
        Ok(())
    }

    pub(crate) fn close(&self) {
        self.pool.close();
    }

    pub(crate) fn load(&self) -> ConnectionLoad {
        let status = self.pool.status();
        ConnectionLoad {
            connections: status.max_size,
            busy: status.size.saturating_sub(status.available),
            waiting: status.waiting,
        }
    }
}

/// Runs `work` in one transaction and commits it, unless the caller has dropped the future.
fn transact<T, E: From<Error>>(
    client: &mut Object,
    handle: &Handle,
    statements: &AtomicU64,
    mode: Mode,
    caller: &oneshot::Sender<()>,
    work: impl FnOnce(&mut Tx<'_>) -> Result<T, E>,
) -> Result<T, E> {
    let check_caller =
        || if caller.is_closed() { Err(Error::Busy("the caller is gone".into())) } else { Ok(()) };
    check_caller()?;
    let builder = client.build_transaction();
    let builder = match mode {
        // One snapshot for all statements of a read.
        Mode::Read => builder.isolation_level(IsolationLevel::RepeatableRead).read_only(true),
        Mode::Write => builder.isolation_level(IsolationLevel::ReadCommitted),
    };
    // If the transaction is dropped early, by an error or a panic, it is rolled back.
    let transaction = handle.block_on(builder.start()).map_err(Error::from)?;
    let connection = Connection { transaction: &transaction, handle };
    let answer = work(&mut Tx::postgres(connection, statements))?;
    check_caller()?;
    handle.block_on(transaction.commit()).map_err(Error::from)?;
    Ok(answer)
}

/// A transaction on its thread. Dropping it before the end cancels its statements: otherwise it would keep its
/// connection and its locks, or wait for locks of other transactions, until the last statement ends.
struct RunningTransaction<R: Send + 'static> {
    token: CancelToken,
    tls: MakeRustlsConnect,
    handle: Handle,
    task: Option<JoinHandle<(Object, R)>>,
}

impl<R: Send + 'static> Drop for RunningTransaction<R> {
    fn drop(&mut self) {
        let Some(mut task) = self.task.take() else { return };
        let (token, tls) = (self.token.clone(), self.tls.clone());
        self.handle.spawn(async move {
            // A cancel request between two statements has no effect, and the server may be unreachable: repeat the
            // request.
            let ended = loop {
                // If there is no response, the next request is the retry.
                drop(timeout(CANCEL_TIMEOUT, token.cancel_query(tls.clone())).await);
                if let Ok(ended) = timeout(CANCEL_INTERVAL, &mut task).await {
                    break ended;
                }
            };
            if let Ok((client, _)) = ended {
                // The last cancel request may still be in flight and could cancel the next transaction on this
                // connection.
                drop(Object::take(client));
            }
        });
    }
}

/// The open transaction of a connection.
pub(crate) struct Connection<'c> {
    transaction: &'c Transaction<'c>,
    handle: &'c Handle,
}

impl Connection<'_> {
    pub(crate) fn each(&self, sql: &str, params: &[&dyn Param], row: &mut OnRow<'_>) -> Result<()> {
        let params = bind(params);
        let rows = self.handle.block_on(async {
            let statement = self.prepare(sql).await?;
            self.transaction.query(&statement, &references(&params)).await
        })?;
        rows.iter().try_for_each(|next| row(&Row::Postgres(next)))
    }

    /// Passes rows as they arrive. The statement is not cached, because it may depend on the schema of another release.
    pub(crate) fn stream(&self, sql: &str, row: &mut OnRow<'_>) -> Result<()> {
        let none: [&(dyn ToSql + Sync); 0] = [];
        let rows = self.handle.block_on(self.transaction.query_raw(sql, none))?;
        let mut rows = pin!(rows);
        while let Some(next) = self.handle.block_on(rows.try_next())? {
            row(&Row::Postgres(&next))?;
        }
        Ok(())
    }

    /// Returns the query plan of a statement, with the number of rows of each step.
    pub(crate) fn explain(&self, sql: &str, params: &[&dyn Param]) -> Result<String> {
        let mut plan = String::new();
        let sql = format!("explain (analyze, costs off, timing off, summary off) {sql}");
        self.each(&sql, params, &mut |row| {
            plan.push_str(&row.cells().read::<String>()?);
            plan.push('\n');
            Ok(())
        })?;
        Ok(plan)
    }

    pub(crate) fn execute(&self, sql: &str, params: &[&dyn Param]) -> Result<u64> {
        let params = bind(params);
        Ok(self.handle.block_on(async {
            let statement = self.prepare(sql).await?;
            self.transaction.execute(&statement, &references(&params)).await
        })?)
    }

    pub(crate) fn insert_many(
        &self,
        table: &str,
        columns: &[(&str, Kind)],
        rows: &[Vec<Value<'_>>],
        suffix: &str,
    ) -> Result<()> {
        let sql = insert(table, columns, suffix);
        let arrays = arrays(columns, rows);
        self.handle.block_on(async {
            let statement = self.prepare(&sql).await?;
            self.transaction.execute(&statement, &columns_of(&arrays)).await
        })?;
        Ok(())
    }

    pub(crate) fn insert_keyed(
        &self,
        table: &str,
        columns: &[(&str, Kind)],
        rows: &[Vec<Value<'_>>],
        suffix: &str,
    ) -> Result<Vec<i64>> {
        let sql = insert(table, columns, &format!("{suffix} returning id"));
        let arrays = arrays(columns, rows);
        let rows = self.handle.block_on(async {
            let statement = self.prepare(&sql).await?;
            self.transaction.query(&statement, &columns_of(&arrays)).await
        })?;
        let mut keys = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<i64>, _>>()?;
        // The rows get their keys in order, but `returning` does not guarantee the order of its rows.
        keys.sort_unstable();
        Ok(keys)
    }

    pub(crate) fn batch(&self, sql: &str) -> Result<()> {
        Ok(self.handle.block_on(self.transaction.batch_execute(sql))?)
    }

    async fn prepare(&self, sql: &str) -> Result<Statement, tokio_postgres::Error> {
        self.transaction.prepare_cached(&translate(sql)).await
    }
}

/// Translates `in {ints $1}` and similar lists to an array, whose length the planner knows, unlike the length of a
/// subquery. The rest of a statement is already in PostgreSQL syntax.
fn translate(sql: &str) -> Cow<'_, str> {
    if !sql.contains('{') {
        return Cow::Borrowed(sql);
    }
    let sql = sql.replace(" in {", " = any {");
    Cow::Owned(expand_lists(&sql, |kind, param| format!("({param}::{}[])", type_name(kind))))
}

/// Returns an `insert` statement with one array parameter per column. It inserts the rows in their order.
fn insert(table: &str, columns: &[(&str, Kind)], suffix: &str) -> String {
    let names = columns.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let arrays = columns
        .iter()
        .enumerate()
        .map(|(index, (_, kind))| format!("${}::{}[]", index + 1, type_name(*kind)))
        .collect::<Vec<_>>()
        .join(", ");
    format!("insert into {table} ({names}) select * from unnest({arrays}) {suffix}")
}

fn arrays<'a>(columns: &[(&str, Kind)], rows: &'a [Vec<Value<'_>>]) -> Vec<Vec<Bound<'a>>> {
    (0..columns.len()).map(|column| rows.iter().map(|row| Bound(row[column].clone())).collect()).collect()
}

fn columns_of<'a>(arrays: &'a [Vec<Bound<'_>>]) -> Vec<&'a (dyn ToSql + Sync)> {
    arrays.iter().map(|array| array as &(dyn ToSql + Sync)).collect()
}

fn type_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Int => "bigint",
        Kind::Real => "double precision",
        Kind::Bool => "boolean",
        Kind::Text => "text",
        Kind::Uuid => "uuid",
        Kind::Blob => "bytea",
    }
}

fn bind<'a>(params: &'a [&dyn Param]) -> Vec<Bound<'a>> {
    params.iter().map(|param| Bound(param.value())).collect()
}

fn references<'a>(params: &'a [Bound<'_>]) -> Vec<&'a (dyn ToSql + Sync)> {
    params.iter().map(|param| param as &(dyn ToSql + Sync)).collect()
}

pub(crate) fn value(row: &tokio_postgres::Row, index: usize) -> Result<Value<'_>> {
    fn cell<'r, T: tokio_postgres::types::FromSql<'r>>(
        row: &'r tokio_postgres::Row,
        index: usize,
        wrap: impl FnOnce(T) -> Value<'r>,
    ) -> Result<Value<'r>> {
        Ok(row.try_get::<_, Option<T>>(index)?.map_or(Value::Null, wrap))
    }
    let column =
        row.columns().get(index).ok_or_else(|| Error::engine("the statement has too few columns"))?;
    match *column.type_() {
        Type::BOOL => cell(row, index, Value::Bool),
        Type::INT8 => cell(row, index, Value::Int),
        Type::INT4 => cell(row, index, |number: i32| Value::Int(i64::from(number))),
        Type::FLOAT8 => cell(row, index, Value::Real),
        Type::BYTEA => cell(row, index, Value::Blob),
        Type::UUID => cell::<Uuid>(row, index, Value::Uuid),
        Type::VOID => Ok(Value::Null),
        _ => cell(row, index, |text: &str| Value::Text(Cow::Borrowed(text))),
    }
}

#[derive(Debug)]
struct Bound<'a>(Value<'a>);

impl ToSql for Bound<'_> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn error::Error + Sync + Send>> {
        match &self.0 {
            Value::Null => Ok(IsNull::Yes),
            Value::Bool(flag) => flag.to_sql(kind, out),
            Value::Int(number) if *kind == Type::INT4 => i32::try_from(*number)?.to_sql(kind, out),
            Value::Int(number) => number.to_sql(kind, out),
            Value::Real(number) => number.to_sql(kind, out),
            Value::Text(text) => text.as_ref().to_sql(kind, out),
            Value::Blob(bytes) => bytes.to_sql(kind, out),
            Value::Uuid(uuid) => uuid.to_sql(kind, out),
            Value::Ints(list) => list.to_sql(kind, out),
            Value::Uuids(list) => list.to_sql(kind, out),
            Value::Texts(list) => list.to_sql(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        // The server has inferred the type of every parameter; `to_sql` writes the inferred type.
        true
    }

    to_sql_checked!();
}

/// Returns the TLS configuration: `sslmode=prefer` encrypts if the server supports it and protects only against passive
/// eavesdropping; `require` also verifies the certificate of the server.
fn tls_for(mode: SslMode) -> Result<ClientConfig> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::Engine(error.into()))?;
    if mode == SslMode::Require {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return Ok(builder.with_root_certificates(roots).with_no_client_auth());
    }
    let verifier = Arc::new(AnyCertificate(provider));
    Ok(builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
}

/// Accepts any certificate, as every PostgreSQL client does with `sslmode=prefer`.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
