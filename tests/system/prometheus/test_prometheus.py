"""Debian's Prometheus against celld: the files for it in config/ load, their queries return data,
and the documentation matches both."""

import contextlib
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest
import urllib.error
import urllib.parse
import urllib.request

from daemon import EndToEnd, a_config, a_job, wait_until

ROOT = os.environ.get("CELLD_SOURCE", os.path.join(os.path.dirname(__file__), "..", "..", ".."))
RULES = os.path.join(ROOT, "config", "prometheus", "celld.rules.yml")
BOARD = os.path.join(ROOT, "config", "grafana", "celld.json")
HERE = os.path.dirname(os.path.abspath(__file__))
METRIC = re.compile(r"\bcelld_[a-z_]+")
# scripts/test unpacks Prometheus here: its package would enable a service.
UNPACKED = os.path.join(os.path.dirname(os.environ["CELLD_BINARY"]), "tools", "prometheus", "usr", "bin")
PATH = os.pathsep.join([os.environ["PATH"], UNPACKED])
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def text_of(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def base_name(name, types):
    """The metric that a series belongs to."""
    for suffix in ("_bucket", "_sum", "_count"):
        if types.get(name.removesuffix(suffix)) == "histogram":
            return name.removesuffix(suffix)
    return name


@functools.cache
def documented():
    """{name: (type, labels)} as in docs/metrics.md."""
    rows = re.findall(r"^\| `(celld_\w+)` \| (\w+) \|([^|]*)\| .+ \|$",
                      text_of("docs", "metrics.md"), re.MULTILINE)
    return {name: (kind, set(re.findall(r"`(\w+)`", labels))) for name, kind, labels in rows}


def board_queries():
    board = json.loads(text_of("config", "grafana", "celld.json"))
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            expression = target["expr"].replace("$__rate_interval", "10s")
            yield panel["title"], expression.replace("$instance", ".*")


def program(name):
    """The path of a program of Prometheus."""
    path = shutil.which(name, path=PATH)
    if path is None:
        raise unittest.SkipTest(f"{name} is not there; scripts/test downloads it")
    return path


def run(*command):
    """Runs a command, which must succeed; returns its output."""
    ended = subprocess.run([program(command[0]), *command[1:]], capture_output=True, text=True,
                           timeout=60, check=False)
    if ended.returncode != 0:
        raise AssertionError(f"{command}: {ended.stdout}{ended.stderr}")
    return ended.stdout


class Prometheus:
    """A Prometheus on a free port, with a directory of its own."""

    def __init__(self, target, directory):
        self.directory = directory
        shutil.copy(RULES, directory)
        config = os.path.join(directory, "prometheus.yml")
        with open(config, "w", encoding="utf-8") as file:
            file.write("global: {scrape_interval: 250ms, scrape_timeout: 250ms,"
                       " evaluation_interval: 500ms}\n"
                       "rule_files: [celld.rules.yml]\n"
                       "scrape_configs:\n"
                       f"  - {{job_name: celld, static_configs: [{{targets: ['{target}']}}]}}\n")
        run("promtool", "check", "config", config)
        self.log_path = os.path.join(directory, "prometheus.log")
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [program("prometheus"), "--config.file=" + config, "--storage.tsdb.path=" + directory,
                 "--web.listen-address=127.0.0.1:0", "--log.level=info"],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=directory)
        self.url = wait_until(self.find_url, "Prometheus serves")

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def find_url(self):
        """Asks the kernel for the port, because Prometheus does not print it."""
        if self.process.poll() is not None:
            raise AssertionError(self.log())
        for port in self.listening_ports():
            with contextlib.suppress(OSError):
                url = f"http://127.0.0.1:{port}"
                with DIRECT.open(url + "/-/ready", timeout=5) as answer:
                    if answer.status == 200:
                        return url
        return None

    def listening_ports(self):
        inodes = set()
        folder = f"/proc/{self.process.pid}/fd"
        for name in os.listdir(folder):
            with contextlib.suppress(OSError):
                inodes.update(re.findall(r"socket:\[(\d+)\]", os.readlink(f"{folder}/{name}")))
        ports = []
        for table in ("/proc/net/tcp", "/proc/net/tcp6"):
            with open(table, encoding="ascii") as file:
                for fields in map(str.split, file.readlines()[1:]):
                    if fields[3] == "0A" and fields[9] in inodes:
                        ports.append(int(fields[1].rpartition(":")[2], 16))
        return ports

    def get(self, path, **query):
        url = f"{self.url}/api/v1/{path}?" + urllib.parse.urlencode(query)
        try:
            with DIRECT.open(url, timeout=20) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{query}: {error.read().decode()}") from None

    def query(self, expression):
        return self.get("query", query=expression)["result"]

    def close(self):
        self.process.terminate()
        self.process.wait(30)


class Documents(unittest.TestCase):
    def test_the_rules_are_valid_and_each_alert_fires_in_its_own_situation(self):
        run("promtool", "check", "rules", RULES)
        run("promtool", "test", "rules", os.path.join(HERE, "celld.rules.test.yml"))

    def test_the_test_of_the_rules_covers_each_alert(self):
        alerts = set(re.findall(r"- alert: (\w+)",
                                text_of("config", "prometheus", "celld.rules.yml")))
        raised = set(re.findall(r'alertname="(\w+)"',
                                text_of("tests", "system", "prometheus", "celld.rules.test.yml")))
        self.assertEqual(alerts, raised)

    def test_the_example_configuration_is_valid(self):
        run("promtool", "check", "config",
            os.path.join(ROOT, "config", "prometheus", "prometheus.yml"))

    def test_each_alert_says_which_section_to_read_and_it_is_there(self):
        rules = text_of("config", "prometheus", "celld.rules.yml")
        alerts = re.findall(r"- alert: (\w+)", rules)
        self.assertGreater(len(alerts), 10)
        self.assertEqual(re.findall(r"runbook: docs/operations/monitoring\.md#(\w+)", rules),
                         [each.lower() for each in alerts])
        page = text_of("docs", "operations", "monitoring.md")
        part = page.partition("\n## Alerts\n")[2].partition("\n## ")[0]
        self.assertEqual(re.findall(r"^### (\w+)$", part, re.MULTILINE), alerts)
        for section in part.split("\n### ")[1:]:
            self.assertGreater(len(section), 200, section)

    def test_names_follow_the_conventions_of_prometheus(self):
        self.assertGreater(len(documented()), 30)
        for name, (kind, _) in documented().items():
            self.assertEqual(name.endswith("_total"), kind == "counter", name)
            if kind == "histogram":
                self.assertRegex(name, r"_(seconds|operations)$")


class Scraped(EndToEnd):
    """A celld with values for every metric."""

    def setUp(self):
        super().setUp()
        config = a_config(self.provider, cells=[{"customer": "acme", "queue": {"max_jobs": 3}},
                                                {"product": "mail", "per": ["customer"]}, {}],
                          limits={"max_connections": 20})
        config["services"] |= {"demo": {"type": "simulated", "circuit": {}}, "vm": {"type": "pull"}}
        self.config = config
        self.start(config)

    def metrics(self):
        answer = self.client.get("/metrics")
        self.assertEqual(answer.status, 200, answer)
        return answer.body.decode()

    def samples(self):
        """{series: value}."""
        lines = [line.rpartition(" ") for line in self.metrics().splitlines()
                 if not line.startswith("#")]
        return {series: float(value) for series, _, value in lines}

    def make_traffic(self, customer="bolt"):
        job = self.submit(a_job(customer=customer, services=["demo"]))
        self.wait_for_end(job)

    def prometheus(self):
        directory = tempfile.mkdtemp(prefix="celld-prometheus-")
        self.addCleanup(shutil.rmtree, directory, ignore_errors=True)
        started = Prometheus(f"{self.daemon.host}:{self.daemon.port}", directory)
        self.addCleanup(started.close)
        return started


class Exposition(Scraped):
    def test_every_metric_is_documented_and_every_documented_metric_exists(self):
        self.make_traffic()
        text = self.metrics()
        types = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE))
        self.assertEqual(types, {name: kind for name, (kind, _) in documented().items()})
        labels = {name: set() for name in types}
        for name, within in re.findall(r"^(\w+)(?:\{(.*)\})? ", text, re.MULTILINE):
            if not name.startswith("#"):
                labels[base_name(name, types)] |= set(re.findall(r'(\w+)="', within)) - {"le"}
        self.assertEqual(labels, {name: each for name, (_, each) in documented().items()})

    def test_promtool_accepts_the_metrics(self):
        ended = subprocess.run([program("promtool"), "check", "metrics"], input=self.metrics(),
                               text=True, capture_output=True, timeout=60, check=False)
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, "", ""))

    def test_the_events_of_jobs_are_counted_at_their_cell(self):
        self.provider.hold("/dns")
        held = [self.submit(a_job(entity_id=str(i))) for i in range(3)]
        self.assertEqual(self.client.post("/v1/jobs", a_job(entity_id="more")).status, 429)
        self.assertEqual(self.client.post("/v1/jobs", a_job(services=["no"])).status, 422)
        acme = 'customer="acme",product="*"'

        def shows(**expected):
            def found():
                samples = self.samples()
                return {series: samples.get(series) for series in expected}
            with contextlib.suppress(AssertionError):
                wait_until(lambda: found() == expected, "these values")
            self.assertEqual(found(), expected)
        shows(**{f"celld_submissions_total{{{acme}}}": 3,
                 f'celld_refusals_total{{{acme},reason="queue_full"}}': 1,
                 f'celld_jobs{{{acme},state="running"}}': 3, f"celld_jobs_max{{{acme}}}": 3,
                 f'celld_workers{{{acme},state="busy"}}': 3, f"celld_workers_target{{{acme}}}": 4,
                 f"celld_oldest_queued_age_seconds{{{acme}}}": 0})
        self.client.post(f"/v1/jobs/{held[0]}/cancel", {})
        self.wait_for_end(held[0])  # Else its call might yet succeed.
        self.provider.release_all()
        for job in held[1:]:
            self.wait_for_end(job)
        shows(**{f'celld_jobs_finished_total{{{acme},state="succeeded"}}': 2,
                 f'celld_jobs_finished_total{{{acme},state="cancelled"}}': 1,
                 f'celld_jobs{{{acme},state="running"}}': 0,
                 'celld_attempts_total{outcome="succeeded",service="dns"}': 2,
                 'celld_attempts_total{outcome="cancelled",service="dns"}': 1,
                 'celld_http_requests_total{method="POST",route="/v1/jobs",status="2xx"}': 3,
                 'celld_http_requests_total{method="POST",route="/v1/jobs",status="4xx"}': 2})
        samples = self.samples()
        self.assertGreaterEqual(samples["celld_queue_wait_seconds_count"], 3)
        self.assertGreater(samples["celld_store_commit_seconds_count"], 0)
        self.assertGreater(samples['celld_store_file_bytes{file="database"}'], 0)

    def test_connections_are_counted_beside_their_limit(self):
        samples = self.samples()
        self.assertEqual(samples["celld_http_connections_max"], 20)
        self.assertIn(samples["celld_http_connections"], range(1, 20))

    def test_a_job_that_waits_makes_the_oldest_age_grow(self):
        self.assertEqual(self.client.post("/v1/admin/cells/acme/*/pause", {}).status, 200)
        self.submit(a_job())
        series = 'celld_oldest_queued_age_seconds{customer="acme",product="*"}'
        first = wait_until(lambda: self.samples()[series], "the job has an age")
        wait_until(lambda: self.samples()[series] > first, "the age grows")
        self.assertEqual(self.samples()['celld_cells{state="paused"}'], 1)

    def test_a_service_added_by_a_reload_has_labels_of_its_own(self):
        self.config["services"]["late"] = {"type": "simulated"}
        self.daemon.write_config(self.config)
        self.daemon.signal(signal.SIGHUP)
        wait_until(lambda: self.client.post("/v1/jobs", a_job(services=["late"])).status == 202,
                   "the service exists")
        series = 'celld_attempts_total{outcome="succeeded",service="late"}'
        wait_until(lambda: self.samples().get(series) == 1, "the attempt is counted")

    def test_cells_beyond_the_limit_on_labels_are_summed(self):
        for start in range(0, 1100, 100):
            for i in range(start, start + 100):
                self.submit(a_job(customer=f"c{i}", product="mail", entity_id=str(i),
                                  delay_ms=3600000, services=["demo"]))
        def jobs():
            return {series: value for series, value in self.samples().items()
                    if series.startswith("celld_jobs{") and 'state="scheduled"' in series}
        wait_until(lambda: sum(jobs().values()) == 1100, "all jobs are in some series")
        self.assertLessEqual(len(jobs()), 1001)
        others = 'customer="(others)",product="(others)"'
        samples = self.samples()
        self.assertGreaterEqual(samples[f'celld_jobs{{{others},state="scheduled"}}'], 100)
        self.assertEqual(sum(value for series, value in samples.items()
                             if series.startswith("celld_submissions_total")), 1100)


class Queries(Scraped):
    def test_prometheus_loads_the_rules_and_each_query_of_rules_and_board_returns_data(self):
        prometheus = self.prometheus()

        def scraped():
            self.make_traffic()
            series = prometheus.query('count_over_time(celld_submissions_total{customer="*"}[10s])')
            return series and int(series[0]["value"][1]) > 4
        wait_until(scraped, "Prometheus has scraped celld several times")
        self.assertEqual(prometheus.query("up")[0]["value"][1], "1")

        groups = prometheus.get("rules")["groups"]
        rules = [rule for group in groups for rule in group["rules"]]
        self.assertEqual(len(rules), text_of("config", "prometheus", "celld.rules.yml").count(
            "- alert:"))
        wait_until(lambda: all(rule["health"] == "ok" for group in prometheus.get("rules")["groups"]
                               for rule in group["rules"]), "every rule is evaluated without error")
        board = list(board_queries())
        self.assertGreater(len(board), 25)

        # An alert that does not fire returns nothing, so it is queried without its thresholds, and
        # over a short time.
        alerts = [(rule["name"], re.sub(r"\[\d+m\]", "[10s]", re.sub(
            r"\s(==|>|<)\s*[\d.e+]+(?=$| and )", "", " ".join(rule["query"].split()))))
                  for rule in rules]
        for name, expression in alerts + board:
            with self.subTest(name=name, query=expression):
                self.assertNotRegex(expression, r"(==|>|<)\s*[\d.e+]+$|\[\d+m\]")
                self.assertTrue(prometheus.query(expression), prometheus.log()[-500:])

        types = {name: kind for name, (kind, _) in documented().items()}
        for name, expression in alerts + board:
            for metric in METRIC.findall(expression):
                self.assertIn(base_name(metric, types), types, name)


if __name__ == "__main__":
    unittest.main()
