// All URLs of the console and their pages. Existing links depend on these URLs.
//
// A page is a module in pages/, loaded on first use. Layouts persist while the user navigates among their pages.

import { Navigate, type RouteDefinition, useParams } from "@solidjs/router";
import type { Component, JSX } from "solid-js";
import { chunk } from "./chunk";
import { AccountFrame, BareFrame, Guard, OrganizationFrame, OrganizationsFrame, ServerFrame } from "./frames";
import { ConsoleProject, PublicProject, useProject } from "./project";
import { Root, Start } from "./start";

/** One export of a page module. */
function page<K extends string>(file: () => Promise<{ [P in K]: Component }>, name: K): Component {
  return chunk(async () => (await file())[name]);
}

/** Redirects to another path below the same parent. */
function to(address: (params: Record<string, string | undefined>) => string): Component {
  return () => {
    const params = useParams();
    return <Navigate href={address(params)} />;
  };
}

/** Redirects the former URLs of changes to the list of regressions. */
function Regressions(): JSX.Element {
  return <Navigate href={useProject().path("regressions")} />;
}

const auth = () => import("./pages/auth");
const onboard = () => import("./pages/onboard");
const organization = () => import("./pages/organization");
const member = () => import("./pages/member");
const invitation = () => import("./pages/invitation");
const project = () => import("./pages/project");
const home = () => import("./pages/home");
const homePlots = () => import("./pages/home_plots");
const perf = () => import("./pages/perf");
const plan = () => import("./pages/plan");
const pull = () => import("./pages/pull");
const compare = () => import("./pages/compare");
const report = () => import("./pages/report");
const job = () => import("./pages/job");
const alert = () => import("./pages/alert");
const event = () => import("./pages/event");
const detection = () => import("./pages/detection");
const threshold = () => import("./pages/threshold");
const thresholdEdit = () => import("./pages/threshold_edit");
const branch = () => import("./pages/branch");
const testbed = () => import("./pages/testbed");
const benchmark = () => import("./pages/benchmark");
const measure = () => import("./pages/measure");
const metric = () => import("./pages/metric");
const codeHost = () => import("./pages/code_host");
const mute = () => import("./pages/mute");
const notice = () => import("./pages/notice");
const projectKey = () => import("./pages/project_key");
const projectMember = () => import("./pages/project_member");
const account = () => import("./pages/account");
const userKey = () => import("./pages/user_key");
const userToken = () => import("./pages/user_token");
const server = () => import("./pages/server");
const runner = () => import("./pages/runner");
const spec = () => import("./pages/spec");

/** The pages of a project that visitors without a session can read. */
const READABLE: RouteDefinition[] = [
  { path: "/plots", component: page(home, "Home") },
  { path: "/plots/:plot", component: page(homePlots, "PlotView") },
  { path: "/compare", component: page(compare, "Compare") },
  { path: "/pulls", component: page(pull, "List") },
  { path: "/regressions", component: page(event, "List") },
  { path: "/regressions/:event", component: page(event, "View") },
  { path: "/changes/:event?", component: Regressions },
  { path: "/reports", component: page(report, "List") },
  { path: "/reports/:report", component: page(report, "View") },
  { path: "/jobs", component: page(job, "List") },
  { path: "/jobs/:job", component: page(job, "View") },
  { path: "/branches", component: page(branch, "List") },
  { path: "/branches/:branch", component: page(branch, "View") },
  { path: "/testbeds", component: page(testbed, "List") },
  { path: "/testbeds/:testbed", component: page(testbed, "View") },
  { path: "/benchmarks", component: page(benchmark, "List") },
  { path: "/benchmarks/:benchmark", component: page(benchmark, "View") },
  { path: "/measures", component: page(measure, "List") },
  { path: "/measures/:measure", component: page(measure, "View") },
  { path: "/metrics/:metric", component: page(metric, "View") },
  { path: "/thresholds", component: page(threshold, "List") },
  { path: "/thresholds/:threshold", component: page(threshold, "View") },
  { path: "/alerts", component: page(alert, "List") },
  { path: "/alerts/:alert", component: page(alert, "View") },
  { path: "/detection", component: page(detection, "View") },
  { path: "/mutes", component: page(mute, "List") },
];

export const routes: RouteDefinition[] = [
  { path: "/", component: Root },
  {
    path: "/auth",
    component: BareFrame,
    children: [
      { path: "/signup", component: page(auth, "SignUp") },
      { path: "/login", component: page(auth, "LogIn") },
      { path: "/confirm", component: page(auth, "Confirm") },
      { path: "/invitation", component: page(() => import("./pages/auth_invitation"), "Invitation") },
      { path: "/logout", component: page(auth, "LogOut") },
      { path: ["/github", "/google", "/oidc/:provider"], component: page(auth, "OAuthCallback") },
    ],
  },
  {
    path: "/console",
    component: Guard,
    children: [
      { path: "/", component: Start },
      { path: "/onboard", component: BareFrame, children: [{ path: "/:step?", component: page(onboard, "Onboard") }] },
      { path: "/plan", component: BareFrame, children: [{ path: "/", component: page(plan, "SelectedPlan") }] },
      {
        path: "/organizations",
        component: OrganizationsFrame,
        children: [
          { path: "/", component: page(organization, "List") },
          { path: "/add", component: page(organization, "Add") },
        ],
      },
      {
        path: "/organizations/:organization",
        component: OrganizationFrame,
        children: [
          { path: "/", component: to(({ organization }) => `/console/organizations/${organization}/projects`) },
          { path: "/projects", component: page(project, "List") },
          { path: "/projects/add", component: page(project, "Add") },
          { path: "/members", component: page(member, "List") },
          { path: "/members/invite", component: page(member, "Invite") },
          { path: "/members/:member", component: page(member, "View") },
          { path: "/invitations/:invitation", component: page(invitation, "View") },
          { path: "/settings", component: page(organization, "Settings") },
          { path: "/usage", component: page(organization, "Usage") },
          { path: "/billing", component: page(plan, "Billing") },
          { path: "/checkout", component: page(plan, "Checkout") },
          { path: "/audit", component: page(organization, "Audit") },
        ],
      },
      {
        path: "/projects/:project",
        component: ConsoleProject,
        children: [
          { path: "/", component: to(({ project }) => `/console/projects/${project}/plots`) },
          ...READABLE,
          { path: "/perf", component: page(perf, "Perf") },
          { path: "/thresholds/add", component: page(thresholdEdit, "Add") },
          { path: "/thresholds/:threshold/edit", component: page(thresholdEdit, "Edit") },
          { path: "/branches/add", component: page(branch, "Add") },
          { path: "/testbeds/add", component: page(testbed, "Add") },
          { path: "/benchmarks/add", component: page(benchmark, "Add") },
          { path: "/measures/add", component: page(measure, "Add") },
          { path: "/keys", component: page(projectKey, "List") },
          { path: "/keys/add", component: page(projectKey, "Add") },
          { path: "/keys/:key", component: page(projectKey, "View") },
          { path: "/code_host", component: page(codeHost, "View") },
          { path: "/notices", component: page(notice, "OfProject") },
          { path: "/notices/add", component: page(notice, "AddToProject") },
          { path: "/notices/:notice", component: page(notice, "ViewOfProject") },
          { path: "/members", component: page(projectMember, "List") },
          { path: "/members/add", component: page(projectMember, "Add") },
          { path: "/members/:member", component: page(projectMember, "View") },
          { path: "/settings", component: page(project, "Settings") },
        ],
      },
      {
        path: "/users/:user",
        component: AccountFrame,
        children: [
          { path: "/", component: to(({ user }) => `/console/users/${user}/settings`) },
          { path: "/keys", component: page(userKey, "List") },
          { path: "/keys/add", component: page(userKey, "Add") },
          { path: "/keys/:key", component: page(userKey, "View") },
          { path: "/notices", component: page(notice, "OfUser") },
          { path: "/notices/add", component: page(notice, "AddToUser") },
          { path: "/notices/:notice", component: page(notice, "ViewOfUser") },
          { path: "/tokens", component: page(userToken, "List") },
          { path: "/settings", component: page(account, "Settings") },
          { path: "/help", component: page(account, "Help") },
        ],
      },
      {
        path: "/server",
        component: ServerFrame,
        children: [
          { path: "/", component: page(server, "Stats") },
          { path: "/users", component: page(server, "Users") },
          { path: "/users/:user", component: page(server, "User") },
          { path: "/runners", component: page(runner, "List") },
          { path: "/runners/add", component: page(runner, "Add") },
          { path: "/runners/:runner", component: page(runner, "View") },
          { path: "/specs", component: page(spec, "List") },
          { path: "/specs/add", component: page(spec, "Add") },
          { path: "/specs/:spec", component: page(spec, "View") },
          { path: "/config", component: page(server, "Config") },
          { path: "/backup", component: page(server, "Backup") },
          { path: "/audit", component: page(server, "Audit") },
        ],
      },
      {
        path: "/api",
        component: BareFrame,
        children: [{ path: "/*operation", component: page(() => import("./pages/reference"), "Reference") }],
      },
    ],
  },
  {
    path: "/perf",
    component: BareFrame,
    children: [{ path: "/", component: page(() => import("./pages/directory"), "Directory") }],
  },
  { path: "/perf/:project/embed", component: page(() => import("./pages/embed"), "Embed") },
  {
    path: "/perf/:project",
    component: PublicProject,
    children: [{ path: "/", component: page(perf, "Perf") }, ...READABLE],
  },
  {
    path: "*",
    component: BareFrame,
    children: [{ path: "*", component: page(() => import("./pages/missing"), "Missing") }],
  },
];
