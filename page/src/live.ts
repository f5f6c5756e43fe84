/** What only a served page has: a file of its own, loaded beside the page. `parts/later.tsx` draws it. */
export { AskTab } from "./parts/ask";
export { SavedViews } from "./parts/savedviews";
export { LabelView } from "./views/label";
export { ReviewView } from "./views/review";
export { OverRuns } from "./views/overruns";
export { RunList } from "./views/runs";
