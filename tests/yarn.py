"""Hadoop on this machine: HDFS with one data node, and Yarn with two nodes. Each daemon is a
process of its own.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape

from servers import serving
from standalone import HOST, SPARK_HOME, free_port

JARS = Path(__file__).resolve().parents[1] / ".jars-hadoop"
"""What `make test-yarn` brings: the servers. The client is Spark's own."""
OPENED = ("--add-opens", "java.base/java.lang=ALL-UNNAMED")
ANYWHERE = f"{HOST}:0"
JAVA_HOME = Path(shutil.which("java") or "/usr/bin/java").resolve().parents[1]


@dataclass
class Hadoop:
    """The daemons, whose folder has their settings, logs and data."""

    folder: Path
    files: int = field(default_factory=free_port)
    resources: int = field(default_factory=free_port)

    @property
    def url(self) -> str:
        return f"hdfs://{HOST}:{self.files}"

    @property
    def settings(self) -> dict[str, str]:
        """Of all daemons and clients."""
        return {
            "fs.defaultFS": self.url,
            "hadoop.tmp.dir": f"{self.folder}/data",
            "dfs.replication": "1",
            "dfs.namenode.http-address": ANYWHERE,
            "dfs.datanode.address": ANYWHERE,
            "dfs.datanode.ipc.address": ANYWHERE,
            "dfs.datanode.http.address": ANYWHERE,
            "yarn.resourcemanager.hostname": HOST,
            "yarn.resourcemanager.address": f"{HOST}:{self.resources}",
            **{
                f"yarn.resourcemanager.{name}.address": f"{HOST}:{free_port()}"
                for name in ("scheduler", "admin")
            },
            "yarn.resourcemanager.resource-tracker.address": f"{HOST}:{free_port()}",
            "yarn.resourcemanager.webapp.address": ANYWHERE,
            "yarn.scheduler.capacity.root.queues": "default",
            "yarn.scheduler.capacity.root.default.capacity": "100",
            "yarn.scheduler.minimum-allocation-mb": "128",
            "yarn.nodemanager.resource.memory-mb": "4096",
            "yarn.nodemanager.resource.cpu-vcores": "4",
            "yarn.nodemanager.vmem-check-enabled": "false",
            "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99",
        }

    def environment(self) -> dict[str, str]:
        return {"HADOOP_CONF_DIR": str(self.folder / "conf"), "JAVA_HOME": str(JAVA_HOME)}

    def java(self, *words: object) -> list[str]:
        """The command of a class, with these settings on its path."""
        path = f"{self.folder}/conf:{JARS}/*:{SPARK_HOME}/jars/*"
        return [f"{JAVA_HOME}/bin/java", "-Xmx300m", *OPENED, "-cp", path, *map(str, words)]

    def run(self, *words: object) -> str:
        """What a class prints."""
        done = subprocess.run(
            self.java(*words),
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout

    def shell(self, *words: object) -> str:
        """What `hdfs dfs` prints."""
        return self.run("org.apache.hadoop.fs.FsShell", *words)

    def write_settings(self) -> None:
        entries = "".join(
            f"<property><name>{key}</name><value>{escape(value)}</value></property>\n"
            for key, value in self.settings.items()
        )
        (self.folder / "conf").mkdir()
        for name in ("core-site.xml", "hdfs-site.xml", "yarn-site.xml"):
            (self.folder / "conf" / name).write_text(
                f"<configuration>\n{entries}</configuration>\n",
            )


def _node(folder: Path, ports: Sequence[int]) -> Mapping[str, str]:
    """The settings that nodes of Yarn on one machine do not share."""
    ends = ("address", "localizer.address", "webapp.address", "collector-service.address")
    addresses = {
        f"yarn.nodemanager.{end}": f"{HOST}:{port}" for end, port in zip(ends, ports, strict=True)
    }
    return {
        **addresses,
        "yarn.nodemanager.local-dirs": f"{folder}/local",
        "yarn.nodemanager.log-dirs": f"{folder}/logs",
    }


@contextmanager
def hadoop(folder: Path) -> Iterator[Hadoop]:
    """HDFS and Yarn, formatted anew in a folder."""
    made = Hadoop(folder)
    made.write_settings()
    hdfs, yarn = "org.apache.hadoop.hdfs.server", "org.apache.hadoop.yarn.server"
    made.run(f"{hdfs}.namenode.NameNode", "-format", "-nonInteractive")
    with ExitStack() as running:

        def start(name: str, port: int, daemon: str, **settings: str) -> None:
            place = folder / name
            place.mkdir()
            options = [f"-D{key}={value}" for key, value in settings.items()]
            environment = {"HADOOP_LOG_DIR": str(place), "JAVA_HOME": str(JAVA_HOME)}
            running.enter_context(serving(made.java(daemon, *options), place, port, **environment))

        start("names", made.files, f"{hdfs}.namenode.NameNode")
        data = free_port()
        start(
            "data-node",
            data,
            f"{hdfs}.datanode.DataNode",
            **{"dfs.datanode.ipc.address": f"{HOST}:{data}"},
        )
        start("resources", made.resources, f"{yarn}.resourcemanager.ResourceManager")
        for name in ("node1", "node2"):
            ports = [free_port() for _ in range(4)]
            start(name, ports[0], f"{yarn}.nodemanager.NodeManager", **_node(folder / name, ports))
        yield made
