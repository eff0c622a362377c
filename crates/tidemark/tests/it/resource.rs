//! The commands of every resource, from creating to deleting, with output for users and for scripts.

use insta::assert_snapshot;
use serde_json::Value;

use crate::desk::Desk;

#[test]
fn organizations_members_and_invitations() {
    let mut desk = Desk::open();
    desk.run("org ls");
    desk.run("organization create --name 'Acme Inc'");
    desk.run("org add --name Other --slug other --json");
    desk.run("organization list --search acme");
    desk.run("organization view acme-inc");
    desk.run("organization update acme-inc --name Acme --slug acme");
    desk.try_out("organization update acme");
    desk.run("organization list --direction desc --per-page 2");
    desk.run("organization usage acme");
    desk.run("organization allowed acme --perm delete");

    desk.run("member list acme");
    desk.run("member invite acme --email bob@example.org --name Bob --role member");
    desk.run("member view acme ada");
    desk.run("member update acme ada --role leader --json");
    desk.try_out("member remove acme ada");
    desk.run("invitation list acme");
    let invitation = desk.quietly("invitation list acme", "/0/uuid");
    desk.run(&format!("invitation get acme {invitation}"));
    desk.run(&format!("invitation revoke acme {invitation}"));
    desk.run("invitation ls acme --json");
    desk.run("audit list acme --direction asc");

    desk.run("org rm other --json");
    desk.run("organization delete acme --hard");
    desk.try_out("organization view acme");
    desk.try_out("organization claim acme");
    assert_snapshot!(desk.conversation());
}

#[test]
fn projects_their_keys_and_members() {
    let mut desk = Desk::open();
    desk.run("project create ada --name Lab --url https://example.org/lab");
    desk.run("project add ada --name Cellar --visibility private --json");
    desk.run("project list");
    desk.run("project ls ada --name Lab --json");
    desk.run("project view lab");
    desk.run("project update lab --url _ --visibility private");
    desk.try_out("project update lab");
    desk.run("project allowed lab --perm manage");

    let key = desk.json("project key create lab --name ci --ttl 3600");
    let uuid = key["uuid"].as_str().unwrap().to_owned();
    desk.run("project key create lab --name other");
    desk.run("project key list lab");
    desk.run(&format!("project key view lab {uuid}"));
    desk.run(&format!("project key update lab {uuid} --name runner"));
    desk.run(&format!("project key revoke lab {uuid}"));
    desk.run("project key ls lab --revoked");
    desk.run("project key ls lab --search nothing");

    desk.run("auth signup --name Bob --i-agree bob@example.org");
    desk.run("project member add lab bob --role viewer");
    desk.run("project member update lab bob --role developer --json");
    desk.run("project member list lab");
    desk.run("project member view lab bob");
    desk.run("project member remove lab bob");
    desk.run("project delete cellar --hard");
    desk.run("project rm lab");
    desk.try_out("project view lab");
    assert_snapshot!(desk.conversation());
}

#[test]
fn branches_testbeds_benchmarks_and_measures() {
    let mut desk = Desk::with_project();
    desk.run("branch create lab --name main");
    desk.run("branch create lab --name 'feature/x#1' --start-point-branch main --json");
    desk.run("branch list lab");
    desk.run("branch view lab main");
    // A slug, a name and a UUID work, as does a changed name.
    desk.run("branch update lab feature/x#1 --name renamed");
    desk.run("branch get lab renamed");
    desk.run("branch edit lab renamed --start-point-reset");
    desk.run("archive --project lab --branch renamed");
    desk.run("branch list lab --archived --json");
    desk.run("branch ls lab");
    desk.run("unarchive --project lab --branch renamed");
    desk.run("branch rm lab renamed");
    desk.try_out("branch delete lab renamed");

    desk.run("testbed create lab --name 'quiet machine'");
    desk.run("testbed view lab 'quiet machine' --json");
    desk.run("testbed update lab quiet-machine --slug quiet --archive");
    desk.run("testbed update lab quiet --unarchive --spec _");
    desk.run("archive --project lab --testbed quiet --json");
    desk.run("testbed list lab --archived");
    desk.run("testbed delete lab quiet");

    desk.run("benchmark create lab --name 'tests::sort [n=10]'");
    desk.run("benchmark list lab --search sort");
    desk.run("benchmark view lab 'tests::sort [n=10]'");
    desk.run("benchmark update lab tests-sort-n-10 --name sort --json");
    desk.run("archive --project lab --benchmark sort");
    desk.run("unarchive --project lab --benchmark sort");
    desk.run("benchmark delete lab sort --json");

    desk.run("measure create lab --name Size --units 'bytes (B)' --direction lower_is_better");
    desk.run("measure list lab --json");
    desk.run("measure view lab size");
    desk.run("measure update lab size --units 'kibibytes (KiB)'");
    desk.run("measure update lab size --direction higher_is_better");
    desk.run("measure update lab size --direction _");
    desk.try_out("measure update lab size --direction up");
    desk.run("archive --project lab --measure Size");
    desk.run("measure ls lab --archived");
    desk.run("measure rm lab size");
    desk.try_out("archive --project lab");
    assert_snapshot!(desk.conversation());
}

/// Returns the command that sends a report of results at an hour of a day.
fn report(hour: u32, results: &str) -> String {
    format!(
        "report create lab --branch main --testbed localhost --hash {hour:040x} --start-time \
         2026-01-31T{hour:02}:00:00Z --end-time 2026-01-31T{hour:02}:01:00Z --results '{results}' \
         --threshold-measure latency --threshold-test percentage --threshold-upper-boundary 0.25"
    )
}

#[test]
fn reports_thresholds_alerts_metrics_perf_and_plots() {
    let mut desk = Desk::with_project();
    let first = desk.json(&report(8, r#"{"sort": {"latency": {"value": 1000}}}"#));
    desk.run(&report(9, r#"{"sort": {"latency": {"value": 2000}}, "find": {"latency": {"value": 5}}}"#));
    desk.try_out(&report(10, r#"{"sort": {"latency": {"value": "fast"}}}"#));
    desk.run("report list lab");
    desk.run("report ls lab --start-time 2026-01-31T09:00:00Z --testbed localhost");
    let uuid = first["uuid"].as_str().unwrap().to_owned();
    desk.run(&format!("report view lab {uuid}"));

    desk.run("alert list lab --status active");
    let alert = desk.quietly("alert list lab", "/0/uuid");
    desk.run(&format!("alert view lab {alert}"));
    desk.run(&format!("alert update lab {alert} --status dismissed --json"));
    desk.run("alert ls lab --status active");
    desk.run("alert update-all lab --status active --from dismissed --benchmark sort");

    desk.run("threshold list lab");
    let threshold = desk.quietly("threshold list lab", "/0/uuid");
    desk.run(&format!(
        "threshold update lab {threshold} --test t_test --upper-boundary 0.99 --min-sample-size 2 --window 86400"
    ));
    desk.run(&format!("threshold models lab {threshold}"));
    desk.run(&format!("threshold update lab {threshold} --remove-model"));
    desk.run("threshold ls lab --measure latency --json");
    desk.run("measure create lab --name Size --units B --json");
    let other = desk.json(
        "threshold create lab --branch main --testbed localhost --measure size --test static --upper-boundary 7",
    );
    desk.run(&format!("threshold view lab {}", other["uuid"].as_str().unwrap()));
    desk.run(&format!("threshold delete lab {}", other["uuid"].as_str().unwrap()));
    desk.try_out(&format!("threshold delete lab {threshold}"));

    desk.run("perf lab --branches main --testbeds localhost --benchmarks sort,find --measures latency");
    desk.run(
        "perf lab --branches main --heads _ --testbeds localhost --benchmarks find --measures Latency --json",
    );
    desk.run(
        "perf lab --branches main --testbeds localhost --benchmarks find --measures latency --end-time 0",
    );
    desk.try_out("perf lab --branches gone --testbeds localhost --benchmarks find --measures latency");
    let metric = first["results"][0][0]["measures"][0]["metric"]["uuid"].as_str().unwrap().to_owned();
    desk.run(&format!("metric view lab {metric}"));
    desk.run(&format!("metric get lab {metric} --json"));

    desk.run(
        "plot create lab --title Sorting --x-axis version --window 604800 --upper-boundary --branches main \
         --testbeds localhost --benchmarks sort,find --measures latency",
    );
    desk.run("plot list lab");
    let plot = desk.quietly("plot list lab", "/0/uuid");
    desk.run(&format!("plot update lab {plot} --title _ --lower-value true --benchmarks sort"));
    desk.run(&format!("plot view lab {plot} --json"));
    desk.run(&format!("plot delete lab {plot}"));
    desk.run(&format!("report delete lab {uuid}"));
    desk.try_out(&format!("report view lab {uuid}"));
    assert_snapshot!(desk.conversation());
}

#[test]
fn notices_and_their_deliveries() {
    let mut desk = Desk::with_project();
    let hook =
        "notice create lab --name Hook --kind webhook --url https://192.0.2.1/hook --direction regression";
    desk.try_out(hook);
    desk.try_out("notice create lab --name Team --kind slack --url https://example.org/hook --quiet 22:00");
    let notice = desk.json(
        "notice create lab --name Team --kind slack --url https://example.org/hook --quiet 22:00-06:00",
    );
    let notice = notice["uuid"].as_str().unwrap().to_owned();
    desk.run("notice list lab");
    desk.run(&format!("notice view lab {notice}"));
    desk.run(&format!("notice update lab {notice} --name Everybody --quiet _ --digest daily"));
    desk.try_out(&format!("notice update lab {notice}"));
    desk.run(&format!(
        "notice update lab {notice} --branch release/* --testbed metal --benchmark parser::* --direction regression \
         --min-change 0.05 --digest none"
    ));
    desk.run(&format!(
        "notice update lab {notice} --branch _ --testbed _ --benchmark _ --direction any --min-change _"
    ));
    desk.try_out(&format!("notice update lab {notice} --min-change 0"));
    desk.run(&format!("notice deliveries lab {notice} --status failed"));
    desk.try_out(&format!("notice redeliver lab {notice} 00000000-0000-4000-8000-000000000000"));
    desk.run(&format!("notice update lab {notice} --archive --json"));
    desk.try_out(&format!("notice test lab {notice}"));
    desk.run("notice list lab --archived");
    desk.run(&format!("notice delete lab {notice}"));
    let mine = desk.json("notice create --user ada --name Mine --kind email --about lab");
    let mine = mine["uuid"].as_str().unwrap().to_owned();
    desk.run("notice list --user ada");
    desk.run(&format!("notice view --user ada {mine}"));
    desk.run(&format!("notice deliveries --user ada {mine} --json"));
    desk.run(&format!("notice test --user ada {mine}"));
    desk.run(&format!("notice delete --user ada {mine}"));
    assert_snapshot!(desk.conversation());
    let webhook =
        desk.json("notice create --user ada --name Own --kind webhook --url https://example.org/hook");
    assert!(webhook["secret"].as_str().unwrap().starts_with("whsec_"), "{webhook}");
    assert!(webhook["project"].is_null(), "{webhook}");
}

#[test]
fn users_tokens_and_the_server() {
    let mut desk = Desk::open();
    desk.run("auth signup --name Bob --i-agree bob@example.org");
    desk.run("auth login bob@example.org --json");
    desk.try_out("auth confirm aa.bb.cc");
    desk.try_out("auth accept aa.bb.cc");
    desk.run("user list");
    desk.run("user view ada --json");
    desk.run("user update bob --name Robert --locked true");
    desk.run("user update bob --locked false --json");
    let key = desk.json("user key create ada --name laptop");
    let uuid = key["uuid"].as_str().unwrap().to_owned();
    desk.run("user key create ada --name 'with an end' --ttl 60");
    desk.run("user key list ada");
    desk.run(&format!("user key view ada {uuid}"));
    desk.run(&format!("user key update ada {uuid} --name desktop"));
    desk.run(&format!("user key revoke ada {uuid} --json"));
    desk.run("user key list ada --revoked");
    desk.run("token list ada");
    desk.try_out("token create ada --name old");
    desk.try_out("token view ada 00000000-0000-4000-8000-000000000000");
    desk.try_out("token update ada 00000000-0000-4000-8000-000000000000 --name older");
    desk.try_out("token revoke ada 00000000-0000-4000-8000-000000000000");

    desk.run("server version");
    desk.run("server version --json");
    desk.run("server config console --json");
    desk.run("server stats");
    desk.run("server backup --compress --compression zstd");
    desk.run("server audit --direction asc --per-page 3");
    desk.run("audit ls --per-page 1 --json --direction asc");
    assert_snapshot!(desk.conversation());

    let config = desk.run("server config view");
    assert!(config.contains("server.bind_address") && config.contains("security.secret_key"), "{config}");
    assert_eq!(desk.json("server config view")["security"]["secret_key"], tidemark_api::MASK);
    let spec: Value = serde_json::from_str(&desk.run("server spec")).unwrap();
    assert!(spec["paths"]["/v0/run"].is_object());
}

#[test]
fn a_list_is_shown_by_pages_or_whole() {
    let mut desk = Desk::with_project();
    let results: Vec<_> =
        (0..300).map(|n| format!(r#""b{n:03}": {{"latency": {{"value": {n}}}}}"#)).collect();
    desk.quietly(&report(8, &format!("{{{}}}", results.join(", "))), "/uuid");
    desk.run("benchmark list lab");
    desk.run("benchmark list lab --page 2 --per-page 2");
    desk.run("benchmark list lab --page 1000");
    desk.try_out("benchmark list lab --all --page 2");
    desk.try_out("benchmark list lab --sort size");
    assert_snapshot!(desk.conversation());
    assert_eq!(desk.run("benchmark list lab --all").lines().count(), 301);
    let all = desk.json("benchmark list lab --all --direction desc");
    let names: Vec<_> = all.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!((names.len(), names[0], names[299]), (300, "b299", "b000"));
}

#[test]
fn arguments_can_come_from_the_environment() {
    let desk = Desk::with_project();
    let ask = |line: &str, project: &str| {
        let mut command = desk.command(line);
        command.env("TIDEMARK_HOST", desk.host()).env("TIDEMARK_PROJECT", project).output().unwrap()
    };
    // The project is public.
    let output = ask("branch list --json", "lab");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), b"[]\n".as_slice()), "{output:?}");
    let output = ask("branch view main", "lab");
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("no branch `main`"), "{output:?}");
    let output = ask("branch view main", "");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("TIDEMARK_PROJECT"), "{output:?}");
    let output = ask("branch create --name main", "lab");
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("Not logged in to http://"), "{output:?}");
    // The flags of the connection work on both sides of the verb.
    let output = desk.command(&format!("branch --host {} list lab --json", desk.host())).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}
