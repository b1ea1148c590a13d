data_dir  = "/opt/nomad/data"
bind_addr = "0.0.0.0"

client {
  enabled        = true
  servers        = ["127.0.0.1"]
  cni_path       = "/opt/cni/bin"
  cni_config_dir = "/opt/cni/config"
}
