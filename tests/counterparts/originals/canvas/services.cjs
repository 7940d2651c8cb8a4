// The services that the app asks, which have nothing to report: it starts with this by NODE_OPTIONS.
const real = globalThis.fetch;
const answer = (u) => {
  if (u.includes("slack.com")) {
    if (u.includes("users.list")) return {ok:true, members:[{id:"U1",name:"petepetrash",profile:{display_name:"petepetrash",real_name:"Pete Petrash"}}]};
    if (u.includes("conversations.list")) return {ok:true, channels:[{id:"C1",name:"engineering",is_member:true,is_private:false}]};
    if (u.includes("auth.test")) return {ok:true, user_id:"U1", user:"petepetrash"};
    return {ok:true, messages:{matches:[],total:0}, channels:[], members:[], user:{id:"U1",name:"petepetrash",profile:{}}};
  }
  if (u.includes("api.github.com")) {
    if (u.includes("/search/")) return {total_count:0, items:[]};
    if (u.includes("graphql")) return {data:{viewer:{login:"petekp",contributionsCollection:{contributionCalendar:{totalContributions:3,weeks:[]}}}}};
    if (u.endsWith("/user")) return {login:"petekp",id:1};
    return [];
  }
  if (u.includes("api.vercel.com")) return {deployments:[], projects:[{id:"prj_1",name:"x"}]};
  if (u.includes("posthog.com")) return {results:[[10,12,14]], columns:[]};
  return null;
};
globalThis.fetch = async (input, init) => {
  const u = typeof input === "string" ? input : input.url ?? String(input);
  const a = answer(u);
  return a ? Response.json(a) : real(input, init);
};
