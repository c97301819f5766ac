print("hook")
