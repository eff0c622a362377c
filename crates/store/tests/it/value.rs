//! Values: parameters, columns and lists.

use tidemark_api::Timestamp;
use tidemark_store::Error;
use uuid::Uuid;

use crate::both;

both! {
    async fn values_are_read_as_they_were_written(db: TestDb) {
        db.read(|tx| {
            for number in [i64::MIN, -1, 0, 1, i64::MAX] {
                assert_eq!(tx.value::<i64>("select cast($1 as bigint)", &[&number])?, number);
                let time = Timestamp::from_micros(number);
                assert_eq!(tx.value::<Timestamp>("select cast($1 as bigint)", &[&time])?, time);
            }
            for number in [f64::MIN, -0.0, f64::MIN_POSITIVE, 5e-324, 0.1, f64::MAX, f64::INFINITY] {
                let read: f64 = tx.value("select cast($1 as double precision)", &[&number])?;
                assert_eq!(read.to_bits(), number.to_bits(), "{number}");
            }
            for text in ["", "'", "\"", "\\", "$1 {ints $1}", "größe 北京 🦀", "line\nline", "null"] {
                assert_eq!(tx.value::<String>("select cast($1 as text)", &[&text])?, text);
            }
            let uuid = Uuid::from_u128(0x0190_a000_0000_7000_8000_0000_0000_00ff);
            let cast = if tx.is_postgres() { "uuid" } else { "text" };
            assert_eq!(tx.value::<Uuid>(&format!("select cast($1 as {cast})"), &[&uuid])?, uuid);
            for flag in [true, false] {
                assert_eq!(tx.value::<bool>("select cast($1 as boolean)", &[&flag])?, flag);
            }
            let nothing: Option<i64> = None;
            assert_eq!(tx.value::<Option<i64>>("select cast($1 as bigint)", &[&nothing])?, None);
            assert_eq!(
                tx.value::<(Option<String>, i64)>("select cast(null as text), cast(7 as bigint)", &[])?,
                (None, 7)
            );
            Ok(())
        })
        .await
        .unwrap();
    }

    async fn a_column_of_another_type_is_an_error(db: TestDb) {
        db.read(|tx| {
            let text = tx.value::<i64>("select cast('a' as text)", &[]);
            assert!(matches!(text, Err(Error::Engine(_))), "{text:?}");
            let null = tx.value::<String>("select cast(null as text)", &[]);
            assert!(matches!(null, Err(Error::Engine(_))), "{null:?}");
            let large = tx.value::<u8>("select cast(256 as bigint)", &[]);
            assert!(matches!(large, Err(Error::Engine(_))), "{large:?}");
            let missing = tx.value::<(i64, i64)>("select cast(1 as bigint)", &[]);
            assert!(matches!(missing, Err(Error::Engine(_))), "{missing:?}");
            Ok(())
        })
        .await
        .unwrap();
    }

    async fn a_list_is_one_parameter(db: TestDb) {
        db.read(|tx| {
            let count = "select count(*) from (select cast(2 as bigint) as id) as row where id in {ints $1}";
            let many: Vec<i64> = (0..100_000).collect();
            for (list, found) in [(vec![], 0), (vec![1], 0), (vec![1, 2, 2], 1), (many, 1)] {
                assert_eq!(tx.value::<i64>(count, &[&list])?, found);
            }
            let odd = ["", "a,b", "{a}", "\"", "\\", "'", "größe"];
            let count = "select count(*) from (select cast($2 as text) as id) as row where id in {texts $1}";
            for text in odd {
                assert_eq!(tx.value::<i64>(count, &[&&odd[..], &text])?, 1, "{text}");
            }
            assert_eq!(tx.value::<i64>(count, &[&&odd[..], &"a"])?, 0);
            Ok(())
        })
        .await
        .unwrap();
    }
}
