#pragma once
// The container in which the ranks of a job run.

#include <string>
#include <vector>

namespace s2s::launch {

struct Container {
  std::string image;                     // "": none
  std::string kind = "apptainer";        // apptainer, singularity, pyxis or enroot
  std::vector<std::string> binds;        // HOST_FOLDER:FOLDER
  std::vector<std::string> environment;  // NAME=VALUE, inside only
  std::string home;                      // HOST_FOLDER:FOLDER
  std::string folder;                    // where the command starts
  bool has_gpus = true;
};

/// The words before the command, for each process: "apptainer exec --nv --bind ... IMAGE". None for
/// pyxis, whose options belong to srun. Source: seed 004; the manuals of Apptainer and enroot.
std::vector<std::string> container_words(const Container& container);
/// NAME=VALUE that the script exports, so that the program finds them inside of the container. They
/// are no words of a command, because all users of a machine see those.
std::vector<std::string> exported_for_container(const Container& container);
/// The options of srun for pyxis: "--container-image=IMAGE ...".
std::vector<std::string> srun_container_words(const Container& container);

}  // namespace s2s::launch
