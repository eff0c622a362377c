// The owners of notices, a project or a user: their operations in the API and their paths in the console.

import { useParams } from "@solidjs/router";
import {
  call,
  type JsonDelivery,
  type JsonNewNotice,
  type JsonNotice,
  type JsonUpdateNotice,
  list,
  type Page as Rows,
} from "../api";
import { useProject } from "../project";
import type { ListQuery } from "../ui/List";
import type { Crumb } from "../ui/Page";
import { userPath, userTitle } from "../user";

/** The owner of the notices: their paths in the API and in the console. */
export interface NoticeOwner {
  title: string;
  crumbs: Crumb[];
  base: string;
  isUser: boolean;
  list: (query: ListQuery, signal: AbortSignal) => Promise<Rows<JsonNotice>>;
  create: (body: JsonNewNotice) => Promise<JsonNotice>;
  view: (notice: string, signal: AbortSignal) => Promise<JsonNotice>;
  update: (notice: string, body: JsonUpdateNotice) => Promise<JsonNotice>;
  remove: (notice: string) => Promise<unknown>;
  deliveries: (notice: string, query: ListQuery, signal: AbortSignal) => Promise<Rows<JsonDelivery>>;
  delivery: (notice: string, delivery: string, signal: AbortSignal) => Promise<JsonDelivery>;
  repeat: (notice: string, delivery: string) => Promise<unknown>;
  /** Sends a test to the destination. */
  test: (notice: string) => Promise<JsonDelivery>;
}

export function useProjectNotices(): NoticeOwner {
  const project = useProject();
  const path = (notice: string) => ({ project: project.slug(), notice });
  return {
    title: "Notifications",
    get crumbs() {
      return project.crumbs();
    },
    get base() {
      return project.path("notices");
    },
    isUser: false,
    list: (query, signal) =>
      list("/v0/projects/{project}/notices", { path: { project: project.slug() }, query, signal }),
    create: (body) => call("post", "/v0/projects/{project}/notices", { path: { project: project.slug() }, body }),
    view: (notice, signal) => call("get", "/v0/projects/{project}/notices/{notice}", { path: path(notice), signal }),
    update: (notice, body) => call("patch", "/v0/projects/{project}/notices/{notice}", { path: path(notice), body }),
    remove: (notice) => call("delete", "/v0/projects/{project}/notices/{notice}", { path: path(notice) }),
    deliveries: (notice, query, signal) =>
      list("/v0/projects/{project}/notices/{notice}/deliveries", { path: path(notice), query, signal }),
    delivery: (notice, delivery, signal) =>
      call("get", "/v0/projects/{project}/notices/{notice}/deliveries/{delivery}", {
        path: { ...path(notice), delivery },
        signal,
      }),
    repeat: (notice, delivery) =>
      call("post", "/v0/projects/{project}/notices/{notice}/deliveries/{delivery}", {
        path: { ...path(notice), delivery },
      }),
    test: (notice) => call("post", "/v0/projects/{project}/notices/{notice}/test", { path: path(notice) }),
  };
}

export function useUserNotices(): NoticeOwner {
  const params = useParams<{ user: string }>();
  const path = (notice: string) => ({ user: params.user, notice });
  return {
    get title() {
      return userTitle(params.user, "notifications");
    },
    crumbs: [],
    get base() {
      return userPath(params.user, "notices");
    },
    isUser: true,
    list: (query, signal) => list("/v0/users/{user}/notices", { path: { user: params.user }, query, signal }),
    create: (body) => call("post", "/v0/users/{user}/notices", { path: { user: params.user }, body }),
    view: (notice, signal) => call("get", "/v0/users/{user}/notices/{notice}", { path: path(notice), signal }),
    update: (notice, body) => call("patch", "/v0/users/{user}/notices/{notice}", { path: path(notice), body }),
    remove: (notice) => call("delete", "/v0/users/{user}/notices/{notice}", { path: path(notice) }),
    deliveries: (notice, query, signal) =>
      list("/v0/users/{user}/notices/{notice}/deliveries", { path: path(notice), query, signal }),
    delivery: (notice, delivery, signal) =>
      call("get", "/v0/users/{user}/notices/{notice}/deliveries/{delivery}", {
        path: { ...path(notice), delivery },
        signal,
      }),
    repeat: (notice, delivery) =>
      call("post", "/v0/users/{user}/notices/{notice}/deliveries/{delivery}", { path: { ...path(notice), delivery } }),
    test: (notice) => call("post", "/v0/users/{user}/notices/{notice}/test", { path: path(notice) }),
  };
}
