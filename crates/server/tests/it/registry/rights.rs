//! Who may pull, push and delete.

use insta::assert_snapshot;
use serde_json::json;

use super::{Client, IMAGE, digest, image, line};
use crate::{Answer, Person, TestServer, both};

/// Returns a client for every role in relation to a project.
async fn everybody<'a>(
    server: &'a TestServer,
    ada: &Person,
    project: &str,
) -> Vec<(&'static str, Client<'a>)> {
    let mut all = vec![("owner", Client::user(server, ada).await)];
    for (name, role) in [
        ("Viewer", Some("viewer")),
        ("Developer", Some("developer")),
        ("Maintainer", Some("maintainer")),
        ("Stranger", None),
    ] {
        let person = server.person(name).await;
        if let Some(role) = role {
            let body = json!({ "user": person.slug, "role": role });
            server.post(&format!("{project}/members"), &ada.token, body).await.expect(201);
        }
        all.push((Box::leak(name.to_lowercase().into_boxed_str()), Client::user(server, &person).await));
    }
    all.push(("key", Client::login(server, "lab", &server.project_key(ada, project).await)));
    all.push((
        "key of another",
        Client::login(server, "other", &server.project_key(ada, "/v0/projects/other").await),
    ));
    all.push(("anybody", Client::anonymous(server)));
    all
}

/// Returns a response without its request id.
fn whole(answer: &Answer) -> String {
    let mut headers = answer.headers.clone();
    headers.remove("x-request-id");
    format!("{} {headers:?} {}", answer.status, answer.body)
}

both! {
    async fn rights_are_those_of_the_project(server: TestServer) {
        let ada = server.person("Ada").await;
        let lab = server.project(&ada, json!({ "name": "Lab" })).await;
        server.project(&ada, json!({ "name": "Other" })).await;
        let all = everybody(&server, &ada, &lab).await;
        let mut text = String::new();
        for visibility in ["public", "private"] {
            server.patch(&lab, &ada.token, json!({ "visibility": visibility })).await.expect(200);
            for (who, client) in &all {
                all[0].1.push_image("lab", "latest", b"layer").await;
                let blob = digest(b"loose");
                all[0].1.push_blob("lab", b"loose").await;
                for call in [
                    "GET /v2/lab/manifests/latest".to_owned(),
                    "GET /v2/lab/tags/list".to_owned(),
                    "POST /v2/lab/blobs/uploads/".to_owned(),
                    format!("DELETE /v2/lab/blobs/{blob}"),
                    "DELETE /v2/lab/manifests/latest".to_owned(),
                ] {
                    let answer = line(&client.call(&call, &[], b"").await);
                    let call = call.replace(&blob, "loose");
                    text.push_str(&format!("{visibility}, {who}: {call}: {answer}\n"));
                }
            }
        }
        assert_snapshot!("registry_rights", text);
    }

    async fn an_unclaimed_project_accepts_every_push(server: TestServer) {
        let anybody = Client::anonymous(&server);
        // The first push creates the project, which is public.
        let pushed = anybody.push_image("open/app", "v1", b"layer").await;
        assert_eq!(anybody.status("GET /v2/open/app/manifests/v1").await, 200);
        let project = server.get("/v0/projects/open", "").await.expect(200);
        assert_eq!((project.text("/name"), project.text("/visibility")), ("open".into(), "public".into()));
        assert!(project.body["claimed"].is_null());
        let warned = anybody.call("PUT /v2/open/app/manifests/v2", &[("content-type", IMAGE)], image(b"{}", b"layer").to_string().as_bytes()).await.expect(201);
        assert!(warned.headers["warning"].to_str().unwrap().starts_with("299 - "));
        // Only an administrator may delete from an unclaimed project.
        let root = server.person("Root").await;
        let ada = server.person("Ada").await;
        let eve = server.person("Eve").await;
        let delete = format!("DELETE /v2/open/app/manifests/{pushed}");
        assert_eq!(anybody.status(&delete).await, 401);
        assert_eq!(Client::user(&server, &eve).await.status(&delete).await, 403);
        drop(root);
        // The first user who pushes becomes the owner.
        let by_ada = Client::user(&server, &ada).await;
        by_ada.push_blob("open", b"mine").await;
        assert!(server.get("/v0/projects/open", "").await.body["claimed"].is_string());
        assert_eq!(anybody.status("POST /v2/open/blobs/uploads/").await, 401);
        assert_eq!(Client::user(&server, &eve).await.status("POST /v2/open/blobs/uploads/").await, 403);
        assert_eq!(by_ada.status(&delete).await, 202);
        // A user's push creates a project in the user's personal organization.
        by_ada.push_blob("fresh/app", b"layer").await;
        let project = server.get("/v0/projects/fresh", &ada.token).await.expect(200);
        assert_eq!(project.text("/organization"), server.get("/v0/organizations/ada", &ada.token).await.text("/uuid"));
        // A UUID cannot be chosen, and a project key creates no projects.
        let unknown = "/v2/01900000-0000-7000-8000-000000000000/blobs/uploads/";
        assert_eq!(by_ada.status(&format!("POST {unknown}")).await, 404);
        assert_eq!(anybody.status(&format!("POST {unknown}")).await, 401);
        let key = server.project_key(&ada, "/v0/projects/fresh").await;
        let key = Client::login(&server, "fresh", &key);
        assert_eq!(key.status("POST /v2/brand-new/blobs/uploads/").await, 404);
        assert_eq!(key.status("POST /v2/open/blobs/uploads/").await, 403);
        server.get("/v0/projects/brand-new", &ada.token).await.expect(404);
    }

    async fn a_project_is_the_same_by_slug_and_uuid(server: TestServer) {
        let ada = server.person("Ada").await;
        let lab = server.project(&ada, json!({ "name": "Lab" })).await;
        let uuid = server.get(&lab, &ada.token).await.text("/uuid");
        let client = Client::user(&server, &ada).await;
        client.push_image("lab/app", "v1", b"layer").await;
        let token = client.token("lab/app").await;
        client.call_with(&token, &format!("GET /v2/{uuid}/app/manifests/v1"), &[], b"").await.expect(200);
        let token = client.token(&format!("{uuid}/app")).await;
        client.call_with(&token, "GET /v2/lab/app/manifests/v1", &[], b"").await.expect(200);
        // The project keeps its images when it is renamed.
        server.patch(&lab, &ada.token, json!({ "slug": "renamed" })).await.expect(200);
        client.call("GET /v2/renamed/app/manifests/v1", &[], b"").await.expect(200);
        // But a token is valid for one repository only.
        let refused = client.call_with(&token, "GET /v2/renamed/manifests/v1", &[], b"").await.expect(401);
        let challenge = refused.headers["www-authenticate"].to_str().unwrap();
        assert!(challenge.ends_with("scope=\"repository:renamed:pull\",error=\"insufficient_scope\""), "{challenge}");
    }

    async fn rights_are_judged_when_a_token_is_used(server: TestServer) {
        let ada = server.person("Ada").await;
        let lab = server.project(&ada, json!({ "name": "Lab" })).await;
        let dev = server.person("Dev").await;
        server.post(&format!("{lab}/members"), &ada.token, json!({ "user": dev.slug, "role": "maintainer" })).await.expect(201);
        let client = Client::user(&server, &dev).await;
        let token = client.token("lab").await;
        client.call_with(&token, "POST /v2/lab/blobs/uploads/", &[], b"").await.expect(202);
        server.delete(&format!("{lab}/members/{}", dev.slug), &ada.token).await.expect(204);
        client.call_with(&token, "POST /v2/lab/blobs/uploads/", &[], b"").await.expect(403);
        server.patch(&lab, &ada.token, json!({ "visibility": "private" })).await.expect(200);
        client.call_with(&token, "GET /v2/lab/tags/list", &[], b"").await.expect(404);
    }

    async fn an_unknown_upload_creates_no_project(server: TestServer) {
        let admin = server.person("Ada").await;
        let client = Client::anonymous(&server);
        let token = client.get_token("scope=repository:ghost/app:*").await.expect(200).text("/token");
        for method in ["GET", "PATCH", "DELETE"] {
            let call = format!("{method} /v2/ghost/app/blobs/uploads/01900000-0000-7000-8000-000000000000");
            let answer = client.call_with(&token, &call, &[], b"bytes").await;
            assert_eq!(answer.status, 404, "{call}: {}", whole(&answer));
        }
        server.get("/v0/projects/ghost", &admin.token).await.expect(404);
    }

    async fn a_hidden_project_answers_like_one_that_does_not_exist(server: TestServer) {
        let ada = server.person("Ada").await;
        let hidden = server.project(&ada, json!({ "name": "Hidden", "visibility": "private" })).await;
        let uuid = server.get(&hidden, &ada.token).await.text("/uuid");
        Client::user(&server, &ada).await.push_image("hidden/app", "v1", b"layer").await;
        server.project(&ada, json!({ "name": "Other" })).await;
        let eve = server.person("Eve").await;
        let key = server.project_key(&ada, "/v0/projects/other").await;
        let callers = [
            ("anonymous", Client::anonymous(&server)),
            ("user", Client::user(&server, &eve).await),
            ("key of another project", Client::login(&server, "other", &key)),
        ];
        let pairs = [("hidden", "absent"), (uuid.as_str(), "01900000-0000-7000-8000-000000000000")];
        let mut text = String::new();
        for (who, client) in &callers {
            for (known, unknown) in pairs {
                let mut seen = Vec::new();
                for name in [known, unknown] {
                    let token = client.get_token(&format!("scope=repository:{name}/app:*")).await.expect(200);
                    let mut lines = vec![format!("scope {}", token.text("/scope"))];
                    for line in ["GET", "HEAD"] {
                        for path in ["manifests/v1", "tags/list", &format!("blobs/{}", digest(b"layer"))] {
                            let call = format!("{line} /v2/{name}/app/{path}");
                            for token in [token.text("/token"), String::new()] {
                                let answer = client.call_with(&token, &call, &[], b"").await;
                                lines.push(format!("{call}: {}", whole(&answer)));
                            }
                        }
                    }
                    let call = format!("DELETE /v2/{name}/app/manifests/v1");
                    let answer = client.call_with(&token.text("/token"), &call, &[], b"").await;
                    lines.push(format!("{call}: {}", whole(&answer)));
                    seen.push(lines.join("\n").replace(name, "NAME"));
                }
                assert_eq!(seen[0], seen[1], "{who}: {known}");
                let scope = seen[0].lines().next().unwrap_or_default();
                text.push_str(&format!("{who}: {scope}\n"));
            }
        }
        assert_snapshot!("registry_hidden_scopes", text);
    }
}
