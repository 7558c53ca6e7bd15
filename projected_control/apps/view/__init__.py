"""The live page: what running controllers do, in a browser, and the controls to tune them by.

It is a process of its own with a node of its own. What it hears, it hears through subscriptions
that no sender waits for (best effort, short, over the loopback interface), of ``~/state`` at its
100 Hz instead of joint states at 1 kHz; what it sends are parameters, transitions and set-points,
all of which the controllers check as they check anybody's. The modules, from ROS to the browser:

- `ros_link`: the node; service calls, subscriptions, publishers. The only one that imports rclpy.
- `found_controllers`: which controllers there are, and on which arm each of them works.
- `mirror`: what is known of one controller: parameters, state, history.
- `shown_parameters`, `presets`, `lights`: what it shows of parameters, preset files, diagnostics.
- `geometry`, `scene`: the arm as Pinocchio reads it, and what is drawn of one moment.
- `watch`: keeps the mirrors up to date.
- `commands`, `requests`: what a browser may ask for, whether it may, and undoing it.
- `access`, `server`, `feed`: who is let in, what is served, what each browser is sent;
  ``page/`` is what the browser loads.
- `app`, `page_process`: the process of the page, and that process as another program's child.

Why a page of its own and not one made with viser, which was the first choice: viser's server knows
neither tokens nor origins and listens on a TCP port that every page of every local browser reaches,
so that it needs a second server before it and a hidden place behind; its panel is one column, in
which charts, sliders and lights are never in sight together, and neither is a stop button; and its
client is megabytes of script where this one is some tens of kilobytes, there at once on a phone.
What remains to be drawn is an arm, lines and arrows, which takes a few hundred lines of WebGL.
"""
