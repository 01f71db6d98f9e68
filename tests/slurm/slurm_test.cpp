// SPDX-License-Identifier: Apache-2.0
// Goal: a campaign beyond one machine loses nothing and tells each finding once. Method: munged,
// slurmctld and slurmd are started on loopback, and the scripts of tools/slurm submit to them.
#include <unistd.h>

#include <string>

#include "tests/support/program.hpp"

namespace holdfast::test {
namespace {

constexpr char const* kSubmit =
    HOLDFAST_SOURCE_DIR "/tools/slurm/submit " HOLDFAST_BIN_DIR "/holdfast \"$PWD/run\" ";

/// A Slurm of one node, for one test.
class Slurm : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    if (shell("PATH=\"$PATH:/usr/sbin\"; for program in munged slurmctld slurmd sbatch; do "
              "command -v $program >/dev/null || exit 1; done")
            .code != 0) {
      GTEST_SKIP() << "there is no Slurm here; ./dev test-slurm installs one";
    }
    fs::permissions(folder_,
                    fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec |
                        fs::perms::group_read | fs::perms::others_read);
    write_configuration();
    Outcome const started = slurm(
        "dd if=/dev/urandom of=key bs=1024 count=1 2>/dev/null; chmod 600 key\n"
        "mkdir state spool\n"
        "munged -F --force --key-file=$PWD/key --socket=$PWD/munge.socket "
        "--pid-file=$PWD/munged.pid --log-file=$PWD/munged.log --seed-file=$PWD/seed "
        ">munged.txt 2>&1 & echo $! >pids\n"
        "for i in $(seq 100); do [ -S munge.socket ] && break; sleep 0.1; done\n"
        "slurmctld -D >slurmctld.txt 2>&1 & echo $! >>pids\n"
        "for i in $(seq 100); do sinfo >/dev/null 2>&1 && break; sleep 0.1; done\n"
        "slurmd -D -N $(hostname -s) >slurmd.txt 2>&1 & echo $! >>pids\n"
        "for i in $(seq 200); do sinfo -h -o %T 2>/dev/null | grep -q idle && break; sleep 0.1; "
        "done\nsinfo -h -o %T");
    ASSERT_EQ(started.out, "idle\n")
        << started.err << content_of(path("slurmctld.txt")) << content_of(path("slurmd.txt"));
  }
  void TearDown() override {
    if (fs::exists(path("pids"))) {
      static_cast<void>(
          slurm("scancel --user=$(id -un) 2>/dev/null; sleep 0.5\n"
                "for pid in $(tac pids); do kill $pid; done; sleep 0.5"));
    }
    Program::TearDown();
  }

  [[nodiscard]] Outcome slurm(std::string const& command) const {
    return shell("PATH=\"$PATH:/usr/sbin\"; export SLURM_CONF=$PWD/slurm.conf\n" + command);
  }

 private:
  void write_configuration() const {
    // Two ports of our own; other tests may have a Slurm too.
    int const port = 20000 + static_cast<int>(getpid() % 10000) * 2;
    std::string const where = folder_.string();
    std::string const text =
        "ClusterName=holdfast\nAuthType=auth/munge\nCredType=cred/munge\nAuthInfo=socket=" + where +
        "/munge.socket\nSlurmctldPort=" + std::to_string(port) +
        "\nSlurmdPort=" + std::to_string(port + 1) + "\nStateSaveLocation=" + where +
        "/state\nSlurmdSpoolDir=" + where + "/spool\nSlurmctldPidFile=" + where +
        "/slurmctld.pid\nSlurmdPidFile=" + where +
        "/slurmd.pid\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n"
        "SwitchType=switch/none\nMpiDefault=none\nSelectType=select/cons_tres\n"
        "SelectTypeParameters=CR_CPU\nSlurmdParameters=config_overrides\nReturnToService=2\n"
        "AccountingStorageType=accounting_storage/none\nJobAcctGatherType=jobacct_gather/none\n"
        "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n";
    static_cast<void>(
        shell("host=$(hostname -s); user=$(id -un)\n{ cat <<'END'\n" + text +
              "END\necho SlurmUser=$user; echo SlurmdUser=$user\n"
              "echo \"SlurmctldHost=$host(127.0.0.1)\"\n"
              "echo NodeName=$host NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN; } >slurm.conf"));
  }
};

TEST_F(Slurm, AnArrayOfTasksSharesUnitsAndTellsABugOfOneTaskOnce) {
  fs::create_directory(path("run"));
  write("run/task-2.options", "--mutant\nbirth_not_zeroed\n");
  Outcome const submitted = slurm(kSubmit + std::string{"4 6s --targets swarm"});
  ASSERT_EQ(submitted.code, 0) << submitted.err;
  Outcome const waited =
      slurm("for i in $(seq 900); do [ -z \"$(squeue -h)\" ] && break; sleep 0.1; done; squeue -h");
  ASSERT_EQ(waited.out, "") << slurm("scontrol show job; cat run/log/*").out;
  ASSERT_TRUE(fs::exists(path("run/all/report.json"))) << slurm("cat run/log/*").out;
  Json const json = Json::parse(content_of(path("run/all/report.json")));
  EXPECT_EQ(json.at("supervisors"), 4);
  EXPECT_EQ(json.at("canary_reported"), true);
  ASSERT_EQ(json.at("findings").size(), 1U) << json.at("findings").dump(2);
  Json const& finding = json.at("findings").at(0);
  EXPECT_EQ(finding.at("id"), "FIRST");
  EXPECT_EQ(shell(finding.at("reproduce").get<std::string>()).code, 1);
  std::uint64_t programs = 0;
  for (int task = 0; task < 4; ++task) {
    std::string const folder = "run/task-" + std::to_string(task);
    Json const own = Json::parse(content_of(path(folder + "/report.json")));
    EXPECT_EQ(own.at("findings").size(), task == 2 ? 1U : 0U);
    EXPECT_EQ(own.at("seed"), task + 1);
    programs += own.at("targets").at("swarm").at("programs").get<std::uint64_t>();
  }
  EXPECT_EQ(json.at("targets").at("swarm").at("programs"), programs);
  EXPECT_GT(json.at("units").get<int>(), 0);
  EXPECT_FALSE(fs::is_empty(path("run/exchange/swarm")));
  EXPECT_NE(content_of(path("run/all/report.html")).find("FIRST at create"), std::string::npos);

  EXPECT_EQ(slurm(kSubmit + std::string{"4 6s"}).code, 2) << "the folder is not new";
  EXPECT_EQ(slurm(kSubmit + std::string{"0 6s"}).code, 2);
}

}  // namespace
}  // namespace holdfast::test
