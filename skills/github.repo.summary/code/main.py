"""Summarises a public GitHub repository."""

from runtime import blobs, log

from github_api import GitHub, GitHubError, NotThere, readme_text, repo_name

README_LETTERS = 600
MESSAGE_LETTERS = 100
COMMITS_SHOWN = 8


def main(args):
    """Returns what GitHub knows about `args["repo"]`; see SKILL.md."""
    return summarise(GitHub(), args)


def summarise(github, args):
    """Asks for the repository, and for the parts that it may lack."""
    path = f"/repos/{repo_name(args['repo'])}"
    about = github.get(path)
    if not isinstance(about, dict) or not isinstance(about.get("full_name"), str):
        raise GitHubError("the answer is not about a repository")
    # A repository that was renamed answers under its new name.
    path = f"/repos/{repo_name(about['full_name'])}"
    warnings = []

    def part(name, tail, **query):
        try:
            return github.get(f"{path}{tail}", **query)
        except NotThere:
            return None
        except GitHubError as error:
            warnings.append(f"{name}: {error}"[:200])
            return None

    languages = shares(part("languages", "/languages"))
    release = part("latest release", "/releases/latest")
    count = args.get("commits", 5)
    commits = part("commits", "/commits", per_page=count) if count else []
    readme = readme_text(part("readme", "/readme")) if args.get("readme", True) else None
    log.info(f"{about['full_name']}: {github.requests_left} requests left")
    lines = [commit_line(c) for c in commits if isinstance(c, dict)] if commits else []
    name = f"{about['full_name']}{' (archived)' if about.get('archived') else ''}"
    purpose = text(about, "description", 150) or "no description"
    language = next(iter(languages), "no language")
    stars = about.get("stargazers_count") or 0
    pushed = (text(about, "pushed_at", 30) or "unknown")[:10]
    return {
        "summary": f"{name}: {purpose}; {language}, {stars:,} stars, last push {pushed}.",
        "name": text(about, "full_name", 150),
        "description": text(about, "description", 300),
        "homepage": text(about, "homepage", 200),
        "topics": [str(topic)[:40] for topic in (about.get("topics") or [])[:10]],
        "license": text(about.get("license"), "spdx_id", 60),
        "default_branch": text(about, "default_branch", 100),
        "archived": bool(about.get("archived")),
        "fork": bool(about.get("fork")),
        "stars": about.get("stargazers_count"),
        "forks": about.get("forks_count"),
        "open_issues": about.get("open_issues_count"),
        "created": text(about, "created_at", 30),
        "pushed": text(about, "pushed_at", 30),
        "languages": languages,
        "latest_release": release_line(release),
        "commits": lines[:COMMITS_SHOWN],
        "commits_blob": blobs.write_json(lines) if len(lines) > COMMITS_SHOWN else None,
        "readme": shortened(readme, README_LETTERS),
        "readme_blob": blobs.write_text(readme, kind="text/markdown") if readme else None,
        "requests_left": github.requests_left,
        "warnings": warnings[:3],
    }


def shares(languages):
    """Returns the share of each language in per cent, the largest first."""
    if not isinstance(languages, dict):
        return {}
    sizes = {str(n)[:40]: v for n, v in languages.items() if isinstance(v, int) and v > 0}
    whole = sum(sizes.values())
    ranked = sorted(sizes.items(), key=lambda item: -item[1])[:10]
    return {name: round(100 * size / whole, 1) for name, size in ranked}


def release_line(release):
    """Returns tag, name and date of a release, or None."""
    if not isinstance(release, dict):
        return None
    return {
        "tag": text(release, "tag_name", 80),
        "name": text(release, "name", 120),
        "published": text(release, "published_at", 30),
    }


def commit_line(commit):
    """Returns hash, date, author and first line of a commit."""
    about = commit.get("commit") or {}
    author = about.get("author") or {}
    message = str(about.get("message") or "").split("\n")[0]
    return {
        "sha": str(commit.get("sha") or "")[:12],
        "date": text(author, "date", 30),
        "author": text(author, "name", 60),
        "message": shortened(message, MESSAGE_LETTERS),
    }


def text(value, key, most):
    """Returns a text of an object, cut, or None without it."""
    found = value.get(key) if isinstance(value, dict) else None
    return shortened(found, most) if isinstance(found, str) and found else None


def shortened(text, most):
    """Returns `text`, cut to `most` letters."""
    return text if text is None or len(text) <= most else text[: most - 1] + "…"
