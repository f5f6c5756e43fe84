"""GitHub and GitLab: where a pull request is, and the one comment on it that is ours."""
