//! `/v0/projects/{project}/members`: roles in one project.

use axum::http::Method;
use insta::assert_snapshot;
use serde_json::json;

use crate::{Person, TestServer, both};

/// Returns what a user may do in a project, one letter each: view, list members, create, edit, delete, manage.
async fn may(server: &TestServer, project: &str, person: &Person) -> String {
    let token = &person.token;
    let name = format!("of-{}", person.slug);
    let branch = format!("{project}/branches/{name}");
    let calls = [
        ('v', server.get(project, token).await),
        ('l', server.get(&format!("{project}/members"), token).await),
        ('c', server.post(&format!("{project}/branches"), token, json!({ "name": name })).await),
        ('e', server.patch(&branch, token, json!({})).await),
        ('d', server.delete(&branch, token).await),
        ('m', server.get(&format!("{project}/keys"), token).await),
    ];
    calls.into_iter().filter(|(_, answer)| answer.status.is_success()).map(|(letter, _)| letter).collect()
}

both! {
    async fn a_role_is_granted_changed_and_taken_away(server: TestServer) {
        server.person("Admin").await;
        let [ada, bob] = [server.person("Ada").await, server.person("Bob").await];
        let project = server.project(&ada, json!({ "name": "Lab", "visibility": "private" })).await;
        let members = format!("{project}/members");
        assert_eq!(may(&server, &project, &bob).await, "");
        assert_eq!(may(&server, &project, &ada).await, "vlcedm");

        let added = server.post(&members, &ada.token, json!({ "user": "bob", "role": "viewer" })).await;
        assert_snapshot!("project_member_add", server.show(&added));
        assert_eq!(may(&server, &project, &bob).await, "vl");
        server.pass(60);
        let bobs = format!("{members}/bob");
        let changed = server.patch(&bobs, &ada.token, json!({ "role": "developer" })).await;
        assert_snapshot!("project_member_change", server.show(&changed));
        assert_eq!(may(&server, &project, &bob).await, "vlced");
        server.pass(60);
        for same in [json!({}), json!({ "role": "developer" })] {
            assert_eq!(server.patch(&bobs, &ada.token, same).await.expect(200).body, changed.body);
        }
        assert_eq!(server.get(&bobs, &bob.token).await.expect(200).body, changed.body);
        assert_eq!(server.get(&format!("{members}/{}", bob.uuid), &ada.token).await.body, changed.body);
        server.patch(&bobs, &ada.token, json!({ "role": "maintainer" })).await.expect(200);
        assert_eq!(may(&server, &project, &bob).await, "vlcedm");
        server.delete(&bobs, &bob.token).await.expect(204);
        assert_eq!(may(&server, &project, &bob).await, "");
        server.delete(&bobs, &ada.token).await.expect(404);
    }

    async fn only_a_maintainer_grants_roles(server: TestServer) {
        let admin = server.person("Admin").await;
        let [ada, bob, eve] = [server.person("Ada").await, server.person("Bob").await, server.person("Eve").await];
        let project = server.project(&ada, json!({ "name": "Lab" })).await;
        let members = format!("{project}/members");
        server.post(&members, &ada.token, json!({ "user": "bob", "role": "developer" })).await.expect(201);
        let bobs = format!("{members}/bob");
        let mut lines = Vec::new();
        for token in ["", &eve.token, &bob.token] {
            lines.push(server.post(&members, token, json!({ "user": "eve", "role": "maintainer" })).await.line());
            lines.push(server.patch(&bobs, token, json!({ "role": "maintainer" })).await.line());
            lines.push(server.delete(&bobs, token).await.line());
            lines.push(server.get(&members, token).await.line());
        }
        for body in [
            json!({ "user": "bob", "role": "viewer" }),
            json!({ "user": "nobody", "role": "viewer" }),
            json!({ "user": "eve", "role": "leader" }),
            json!({ "user": "eve" }),
            json!({ "user": "Not A Slug", "role": "viewer" }),
        ] {
            lines.push(server.post(&members, &ada.token, body).await.line());
        }
        lines.push(server.patch(&bobs, &ada.token, json!({ "role": "owner" })).await.line());
        lines.push(server.get(&format!("{members}/eve"), &ada.token).await.line());
        assert_snapshot!("project_member_refused", lines.join("\n"));

        server.patch(&bobs, &ada.token, json!({ "role": "maintainer" })).await.expect(200);
        server.post(&members, &bob.token, json!({ "user": "eve", "role": "viewer" })).await.expect(201);
        server.delete(&format!("{members}/ada"), &bob.token).await.expect(204);
        assert_eq!(may(&server, &project, &ada).await, "vlcedm", "she leads the organization");
        assert_eq!(may(&server, &project, &admin).await, "vlcedm");
    }

    async fn keys_go_with_the_role_of_their_creator_unless_they_are_kept(server: TestServer) {
        server.person("Admin").await;
        let ada = server.person("Ada").await;
        let project = server.project(&ada, json!({ "name": "Lab" })).await;
        let branch = async |key: &str, name: &str| {
            server.post(&format!("{project}/branches"), key, json!({ "name": name })).await.status.as_u16()
        };
        let role = json!({ "role": "developer" });
        let mut shown = Vec::new();
        for (name, method, query, status) in [
            ("Bob", Method::DELETE, "", 401),
            ("Cleo", Method::DELETE, "?keep_keys=false", 401),
            ("Dora", Method::DELETE, "?keep_keys=true", 201),
            ("Eve", Method::PATCH, "", 401),
            ("Fay", Method::PATCH, "?keep_keys=true", 201),
        ] {
            let person = server.person(name).await;
            let new = json!({ "user": person.slug, "role": "maintainer" });
            server.post(&format!("{project}/members"), &ada.token, new).await.expect(201);
            let key = server.project_key(&person, &project).await;
            assert_eq!(branch(&key, &format!("before-{name}")).await, 201);
            let member = format!("{project}/members/{}", person.slug);
            let body = (method == Method::PATCH).then(|| role.clone());
            let wrong = format!("{member}?keep_keys=maybe");
            server.call(method.clone(), &wrong, &ada.token, body.clone()).await.expect(400);
            let answer = server.call(method.clone(), &format!("{member}{query}"), &ada.token, body).await;
            assert!(answer.status.is_success(), "{}", answer.body);
            assert_eq!(branch(&key, &format!("after-{name}")).await, status, "{method} {query}");
            let audit = server.get("/v0/organizations/ada/audit?per_page=1", &ada.token).await.expect(200);
            shown.push(format!("{name} {} {}", audit.body[0]["action"], audit.body[0]["detail"]));
        }

        // The same happens when a leader of the organization loses that role.
        let gil = server.person("Gil").await;
        server.join("ada", &ada, &gil, "leader").await;
        let key = server.project_key(&gil, &project).await;
        let path = "/v0/organizations/ada/members/gil?keep_keys=true";
        server.patch(path, &ada.token, json!({ "role": "member" })).await.expect(200);
        assert_eq!(branch(&key, "after-Gil").await, 201);
        let audit = server.get("/v0/organizations/ada/audit?per_page=1", &ada.token).await.expect(200);
        shown.push(format!("Gil {} {}", audit.body[0]["action"], audit.body[0]["detail"]));
        assert_snapshot!("project_member_keys", server.redact(&shown.join("\n")));
    }

    async fn members_of_the_organization_see_its_projects(server: TestServer) {
        server.person("Admin").await;
        let [ada, bob, eve] = [server.person("Ada").await, server.person("Bob").await, server.person("Eve").await];
        server.organization(&ada, "Acme").await;
        server.join("acme", &ada, &bob, "member").await;
        server.join("acme", &ada, &eve, "leader").await;
        let body = json!({ "name": "Lab", "visibility": "private" });
        server.post("/v0/organizations/acme/projects", &ada.token, body).await.expect(201);
        let project = "/v0/projects/lab";
        assert_eq!(may(&server, project, &bob).await, "vl");
        assert_eq!(may(&server, project, &eve).await, "vlcedm");
        let role = json!({ "user": "bob", "role": "developer" });
        server.post(&format!("{project}/members"), &eve.token, role).await.expect(201);
        assert_eq!(may(&server, project, &bob).await, "vlced", "the stronger role counts");
        server.delete("/v0/organizations/acme/members/bob", &ada.token).await.expect(204);
        assert_eq!(may(&server, project, &bob).await, "", "his role in the project went with him");
    }

    async fn members_are_listed_by_name(server: TestServer) {
        let ada = server.person("Ada").await;
        for name in ["bob", "Carl", "Dora"] {
            server.person(name).await;
        }
        let project = server.project(&ada, json!({ "name": "Lab" })).await;
        let members = format!("{project}/members");
        for user in ["dora", "bob", "carl"] {
            let body = json!({ "user": user, "role": "viewer" });
            server.post(&members, &ada.token, body).await.expect(201);
        }
        for (query, names) in [
            ("", vec!["Ada", "bob", "Carl", "Dora"]),
            ("direction=desc&per_page=2", vec!["Dora", "Carl"]),
            ("page=2&per_page=3", vec!["Dora"]),
            ("name=Carl", vec!["Carl"]),
            ("name=carl", vec![]),
            ("search=AR", vec!["Carl"]),
            ("search=example.org", vec![]),
            ("search=%25", vec![]),
        ] {
            let list = server.get(&format!("{members}?{query}"), &ada.token).await.expect(200);
            assert_eq!(list.each("name"), names, "{query}");
        }
        server.get(&format!("{members}?sort=role"), &ada.token).await.expect(400);
    }
}
