//! Query plans of the statements that must stay fast: which indexes they use and how many rows they read.

use tidemark_api::{Benchmark, BenchmarkFilter, NameId, Page};
use tidemark_store::{Dimension, Error, Tx, benchmark};

use crate::{Engine, Lab, both, server::OWN_DATABASE};

const ROWS: i64 = 100_000;

impl Lab {
    /// Fills the project with benchmarks, `bench 000000` and so on; every thousandth has `needle` in its name.
    async fn fill(&self) {
        let project = self.id;
        let (uuid, pad) = match self.server.engine {
            Engine::Sqlite => ("printf('00000000-0000-7000-8000-%012d', n)", "printf('%06d', n)"),
            Engine::Postgres => {
                ("('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid", "lpad(n::text, 6, '0')")
            }
        };
        let fill = move |tx: &mut Tx<'_>| {
            tx.execute(
                &format!(
                    "with recursive number (n) as (select 0 union all select n + 1 from number where n + 1 < {ROWS})
                     insert into benchmark (uuid, project_id, name, slug, created, modified)
                     select {uuid}, $1, 'bench ' || {pad} || case when n % 1000 = 0 then ' needle' else '' end,
                            'bench-' || {pad}, 0, 0 from number"
                ),
                &[&project],
            )?;
            tx.execute(
                "insert into dimension_count (project_id, kind, live, archived) values ($1, 'benchmark', $2, 0)",
                &[&project, &ROWS],
            )
        };
        self.server.app.db.write::<_, Error, _>(fill).await.unwrap();
    }

    async fn plans(&self, query: &str, page: Page) -> Vec<String> {
        let (project, search) = (self.id, query.to_owned());
        let list = move |tx: &mut Tx<'_>| {
            let search = (!search.is_empty()).then(|| search.parse().unwrap());
            let filter = BenchmarkFilter { search, ..BenchmarkFilter::default() };
            let (rows, _) = Benchmark::list(tx, project, &filter, &page)?;
            assert!(!rows.is_empty());
            Ok(())
        };
        self.server.app.db.explain(list).await.unwrap()
    }
}

/// Returns the maximum number of rows of a step of a plan; on SQLite, the number of virtual machine steps, about ten
/// per row.
pub(crate) fn touched(plan: &str) -> u64 {
    let number = |text: &str| {
        let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u64>().unwrap_or(0)
    };
    let after = |line: &str, word: &str| line.split_once(word).map(|(_, rest)| number(rest));
    plan.lines()
        .filter_map(|line| {
            let rows = after(line, "rows=").map(|rows| rows * after(line, "loops=").unwrap_or(1));
            rows.or_else(|| after(line, "steps=")).or_else(|| after(line, "Removed by Filter: "))
        })
        .max()
        .unwrap_or(0)
}

both! {
    async fn little_is_touched_of_many(server: TestServer = OWN_DATABASE) {
        let lab = Lab::open(server).await;
        lab.fill().await;
        // PostgreSQL soon analyzes changed tables itself; SQLite may have no statistics for long.
        if lab.server.engine == Engine::Postgres {
            lab.sql("analyze", Vec::new()).await;
        }
        a_page(&lab).await;
        a_search(&lab).await;
        the_names_of_a_report(&lab).await;
        if lab.server.engine == Engine::Sqlite {
            lab.sql("analyze", Vec::new()).await;
            a_page(&lab).await;
            a_search(&lab).await;
            the_names_of_a_report(&lab).await;
        }
    }
}

async fn a_page(lab: &Lab) {
    for page in [Page::default(), Page { page: 3, direction: "desc".parse().ok(), ..Page::default() }] {
        let plans = lab.plans("", page).await;
        assert_eq!(plans.len(), 2);
        for plan in plans {
            assert!(touched(&plan) < 500, "{plan}");
            assert!(plan.contains("dimension_count") || plan.contains("benchmark_live"), "{plan}");
        }
    }
}

async fn a_search(lab: &Lab) {
    // A hundred matches; one match; one match by UUID.
    let uuid = "00000000-0000-7000-8000-000000054321";
    for (search, most) in [("needle", 5_000), ("NCH-054321", 500), (uuid, 500)] {
        for plan in lab.plans(search, Page::default()).await {
            assert!(touched(&plan) < most, "{search}: {}\n{plan}", touched(&plan));
            assert!(plan.contains("benchmark_search") || plan.contains("VIRTUAL TABLE INDEX"), "{plan}");
        }
    }
}

async fn the_names_of_a_report(lab: &Lab) {
    let (fresh, project) = (lab.server.app.fresh(), lab.id);
    let find = move |tx: &mut Tx<'_>| {
        let wanted: Vec<_> = ["bench 000001", "bench-000002", "00000000-0000-7000-8000-000000000003"]
            .iter()
            .map(|text| (text.parse::<NameId>().unwrap(), text.parse().unwrap()))
            .collect();
        for (reference, _) in &wanted {
            assert!(Benchmark::resolve(tx, project, reference)?.is_some());
        }
        let wanted: Vec<_> = wanted.iter().map(|(reference, name)| (Some(reference), name)).collect();
        assert_eq!(benchmark::ensure(tx, &fresh, project, &wanted)?.len(), 3);
        Ok(())
    };
    for plan in lab.server.app.db.explain(find).await.unwrap() {
        assert!(touched(&plan) < 500, "{plan}");
    }
}
