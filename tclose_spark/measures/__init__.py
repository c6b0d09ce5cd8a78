"""What makes an equivalence class safe or useful: plain numpy, one idea a file, no Spark."""
