"""Definitions of the standard messages in recordings, as ROS 2 has them (encoding ros2msg)."""

from __future__ import annotations

_SEPARATOR = "\n" + 80 * "=" + "\nMSG: {name}\n"

_TIME = "int32 sec\nuint32 nanosec\n"
_HEADER = "builtin_interfaces/Time stamp\nstring frame_id\n"
_VECTOR = "float64 x\nfloat64 y\nfloat64 z\n"

_OWN = {
    "builtin_interfaces/Time": _TIME,
    "std_msgs/Header": _HEADER,
    "std_msgs/String": "string data\n",
    "sensor_msgs/JointState": (
        "std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\n"
        "float64[] effort\n"
    ),
    "geometry_msgs/Vector3": _VECTOR,
    "geometry_msgs/Wrench": "geometry_msgs/Vector3 force\ngeometry_msgs/Vector3 torque\n",
    "geometry_msgs/WrenchStamped": "std_msgs/Header header\ngeometry_msgs/Wrench wrench\n",
    "std_msgs/MultiArrayDimension": "string label\nuint32 size\nuint32 stride\n",
    "std_msgs/MultiArrayLayout": "std_msgs/MultiArrayDimension[] dim\nuint32 data_offset\n",
    "std_msgs/Float64MultiArray": "std_msgs/MultiArrayLayout layout\nfloat64[] data\n",
    "diagnostic_msgs/KeyValue": "string key\nstring value\n",
    "diagnostic_msgs/DiagnosticStatus": (
        "byte OK=0\nbyte WARN=1\nbyte ERROR=2\nbyte STALE=3\nbyte level\nstring name\n"
        "string message\nstring hardware_id\ndiagnostic_msgs/KeyValue[] values\n"
    ),
    "diagnostic_msgs/DiagnosticArray": (
        "std_msgs/Header header\ndiagnostic_msgs/DiagnosticStatus[] status\n"
    ),
    "rcl_interfaces/ParameterValue": (
        "uint8 type\nbool bool_value\nint64 integer_value\nfloat64 double_value\n"
        "string string_value\nbyte[] byte_array_value\nbool[] bool_array_value\n"
        "int64[] integer_array_value\nfloat64[] double_array_value\nstring[] string_array_value\n"
    ),
    "rcl_interfaces/Parameter": "string name\nrcl_interfaces/ParameterValue value\n",
    "rcl_interfaces/ParameterEvent": (
        "builtin_interfaces/Time stamp\nstring node\nrcl_interfaces/Parameter[] new_parameters\n"
        "rcl_interfaces/Parameter[] changed_parameters\n"
        "rcl_interfaces/Parameter[] deleted_parameters\n"
    ),
}


def schema(name: str) -> bytes:
    """The definition of a message and of all that it is made of.

    Args:
        name: As package/Type.
    """
    needed: list[str] = []

    def visit(one: str) -> None:
        for line in _OWN[one].splitlines():
            kind = line.split()[0].removesuffix("[]")
            if "/" in kind and kind not in needed:
                needed.append(kind)
                visit(kind)

    visit(name)
    parts = [_SEPARATOR.format(name=one) + _OWN[one] for one in needed]
    return "".join([_OWN[name], *parts]).encode()
