//! Dimensions: the same behavior for branches, testbeds, benchmarks and measures.

use std::{collections::HashMap, sync::Arc};

use tidemark_api::{Benchmark, BenchmarkName, Branch, Measure, NameId, Page, Testbed};
use tidemark_store::{
    Dimension, Error, ProjectId, Tx, benchmark,
    dimension::{DimensionFilter, DimensionUpdate},
    head,
};

use crate::{both, fresh};

pub(crate) const ALL: DimensionFilter<'static> =
    DimensionFilter { name: None, search: None, archived: false, by_newest_run: false };
const ARCHIVED: DimensionFilter<'static> = DimensionFilter { archived: true, ..ALL };

/// Creates an item; `complete` adds what the dimension needs to be read.
fn create<D: Dimension>(
    tx: &mut Tx<'_>,
    project: ProjectId,
    name: &str,
    fields: D::Fields<'_>,
    complete: fn(&mut Tx<'_>, D::Id) -> Result<(), Error>,
) -> Result<D::Id, Error> {
    let id = D::create(tx, &fresh(), project, &name, None, fields)?;
    complete(tx, id)?;
    Ok(id)
}

/// Walks an item through its life.
fn check<D: Dimension>(
    tx: &mut Tx<'_>,
    project: ProjectId,
    fields: D::Fields<'_>,
    complete: fn(&mut Tx<'_>, D::Id) -> Result<(), Error>,
) -> Result<(), Error> {
    let all = |tx: &mut Tx<'_>, filter| Ok::<_, Error>(D::list(tx, project, filter, &Page::default())?.1);
    let id = create::<D>(tx, project, "First.one", fields, complete)?;
    let other = create::<D>(tx, project, "Second", fields, complete)?;
    // A slug that is taken gets a suffix.
    create::<D>(tx, project, "first-one", fields, complete)?;
    let uuid = D::view(tx, id)?.uuid();
    let mut found = Vec::new();
    for reference in ["First.one", "first-one", &uuid.to_string()] {
        let reference: NameId = reference.parse().unwrap();
        found.push(D::resolve(tx, project, &reference)?.map(Into::<i64>::into));
    }
    // A slug comes before a name.
    assert_eq!(found, [Some(id.into()); 3], "{}", D::TABLE);
    assert_eq!(D::resolve(tx, project, &"unknown".parse().unwrap())?.map(Into::<i64>::into), None);
    let unknown = D::find(tx, project, &"unknown".parse().unwrap()).map(Into::<i64>::into);
    assert!(matches!(unknown, Err(Error::NotFound(noun)) if noun == D::TABLE), "{unknown:?}");

    let by_ids: HashMap<D::Id, Arc<D>> = D::by_ids(tx, &[id.into(), other.into(), -1])?;
    assert_eq!((by_ids.len(), by_ids[&id].uuid()), (2, uuid));
    let by_uuids: HashMap<_, (D::Id, Arc<D>)> = D::by_uuids(tx, project, &[uuid])?;
    assert_eq!(Into::<i64>::into(by_uuids[&uuid].0), id.into());
    assert!(by_uuids[&uuid].1.uuid() == uuid && by_uuids.len() == 1);
    let mut names = D::names(tx, project, 8)?;
    // The order of punctuation depends on the collation.
    names.sort_unstable();
    assert_eq!(names, ["First.one", "Second", "first-one"]);

    let search = DimensionFilter { search: Some("SECOND"), ..ALL };
    assert_eq!((all(tx, ALL)?, all(tx, ARCHIVED)?, all(tx, search)?), (3, 0, 1));
    let change = DimensionUpdate { name: None, slug: None, archived: Some(true) };
    for _ in 0..2 {
        D::update(tx, project, other, change, fresh().now)?;
        assert_eq!((all(tx, ALL)?, all(tx, ARCHIVED)?, all(tx, search)?), (2, 1, 0), "counted once");
    }
    D::update(tx, project, other, DimensionUpdate { archived: Some(false), ..change }, fresh().now)?;
    assert_eq!((all(tx, ALL)?, all(tx, ARCHIVED)?), (3, 0));
    Ok(())
}

both! {
    async fn dimensions_behave_alike(db: TestDb) {
        let project = db.project().await;
        db.write(move |tx| {
            check::<Branch>(tx, project, (), |tx, id| head::create(tx, &fresh(), id, None, 0).map(drop))?;
            check::<Testbed>(tx, project, None, |_, _| Ok(()))?;
            check::<Benchmark>(tx, project, (), |_, _| Ok(()))?;
            check::<Measure>(tx, project, "ns", |_, _| Ok(()))
        })
        .await
        .unwrap();
        let deleted = move |tx: &mut Tx<'_>| {
            let id = Testbed::resolve(tx, project, &"Second".parse().unwrap())?.unwrap();
            Testbed::delete(tx, project, id)?;
            let again = Testbed::delete(tx, project, id);
            assert!(matches!(again, Err(Error::NotFound("testbed"))), "{again:?}");
            Ok(Testbed::list(tx, project, ALL, &Page::default())?.1)
        };
        assert_eq!(db.write(deleted).await.unwrap(), 2);
    }

    /// The number of rows exceeds the largest number of rows per statement.
    async fn keys_of_a_bulk_insert_are_in_the_order_of_its_rows(db: TestDb) {
        let project = db.project().await;
        let names: Vec<BenchmarkName> =
            (0..1_300).rev().map(|number| format!("benchmark {number}").parse().unwrap()).collect();
        let statements = db.db.statements();
        let made = db
            .write(move |tx| {
                let wanted: Vec<_> = names.iter().map(|name| (None, name)).collect();
                let keys = benchmark::ensure(tx, &fresh(), project, &wanted)?;
                let ids: Vec<i64> = keys.iter().map(|key| key.get()).collect();
                let found: HashMap<_, Arc<Benchmark>> = Benchmark::by_ids(tx, &ids)?;
                Ok(keys.iter().zip(&names).all(|(key, name)| found[key].name == *name))
            })
            .await;
        assert!(made.unwrap());
        assert!(db.db.statements() - statements < 10, "the number of statements does not grow with the rows");
    }

    async fn concurrent_writers_create_an_item_once(db: TestDb) {
        let project = db.project().await;
        let db = Arc::new(db);
        let writers: Vec<_> = (0..6)
            .map(|writer| {
                let db = Arc::clone(&db);
                tokio::spawn(async move {
                    let names = ["a", "b", "c", "d"].map(|name| name.parse::<BenchmarkName>().unwrap());
                    // Different orders would deadlock if each name were locked on its own.
                    let order: Vec<_> = (0..4).map(|index| (index + writer) % 4).collect();
                    db.write(move |tx| {
                        let wanted: Vec<_> = order.iter().map(|index| (None, &names[*index])).collect();
                        let keys = benchmark::ensure(tx, &fresh(), project, &wanted)?;
                        let mut keys: Vec<_> = order.iter().copied().zip(keys).collect();
                        keys.sort_unstable();
                        Ok(keys)
                    })
                    .await
                })
            })
            .collect();
        let mut all = Vec::new();
        for writer in writers {
            all.push(writer.await.unwrap().unwrap());
        }
        assert!(all.iter().all(|keys| *keys == all[0]), "{all:?}");
        let total = db.read(move |tx| Ok(Benchmark::list(tx, project, ALL, &Page::default())?.1)).await;
        assert_eq!(total.unwrap(), 4);
    }
}
