"""The fixed half of the world: its ordinary words and what goes together with what.

Everything a model can learn as a regularity stands here: what the groups of creatures share, which
tool serves which purpose, which step follows which, which word means the opposite of which. Invented
names and the facts about them are drawn per seed in `world.py`.
"""

from typing import NamedTuple


class CreatureGroup(NamedTuple):
    """What all creatures of one group have in common."""

    name: str
    plural: str
    cover: str
    motion: str
    limb: str
    shelter: str
    food: str


GROUPS = (
    CreatureGroup("bird", "birds", "feathers", "fly", "wings", "nest", "seeds"),
    CreatureGroup("fish", "fishes", "scales", "swim", "fins", "reef", "weeds"),
    CreatureGroup("beast", "beasts", "fur", "run", "paws", "den", "meat"),
    CreatureGroup("insect", "insects", "shell", "crawl", "feelers", "hive", "leaves"),
    CreatureGroup("flower", "flowers", "petals", "grow", "roots", "garden", "rain"),
)

COLOURS = ("red", "blue", "green", "white", "black", "yellow")
HOMES = ("river", "forest", "hill", "lake", "field", "cave")
SIZES = ("small", "large")

PEOPLE = (
    "Ana", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gina", "Hugo",
    "Iris", "Jon", "Kira", "Leo", "Mona", "Nils", "Olga", "Paul",
)  # fmt: skip
WOMEN = frozenset({"Ana", "Cleo", "Eva", "Gina", "Iris", "Kira", "Mona", "Olga"})

PLACES = (
    "market", "school", "bridge", "house", "station", "harbour",
    "park", "mill", "church", "castle", "museum", "library",
)  # fmt: skip
TIMES = (
    "at noon", "at night", "at dawn", "in spring", "in summer", "in autumn", "in winter", "today",
)  # fmt: skip
GOODS = ("apples", "pears", "eggs", "coins", "books", "stones", "cakes", "pens")
THINGS = (
    "boat", "lamp", "chair", "coat", "basket", "drum", "kite", "rope",
    "table", "clock", "ladder", "bucket", "blanket", "wagon", "flute", "barrel",
)  # fmt: skip

ORGANS = ("heart", "lungs", "skin", "stomach")
SYMPTOMS = {"heart": "weakness", "lungs": "cough", "skin": "itching", "stomach": "cramps"}
REMEDIES = {"heart": "rest", "lungs": "steam", "skin": "oil", "stomach": "tea"}

POSITIVE = (
    "good", "great", "lovely", "warm", "funny", "fresh", "moving", "bright", "clever", "gentle",
    "honest", "rich", "splendid", "tender", "thrilling", "vivid", "witty", "wise", "bold", "charming",
)  # fmt: skip
NEGATIVE = (
    "bad", "awful", "boring", "dull", "weak", "cold", "stale", "empty", "clumsy", "crude",
    "dreary", "flat", "foolish", "grim", "hollow", "lazy", "messy", "noisy", "silly", "tedious",
)  # fmt: skip
REVIEWED = ("film", "book", "song", "play", "meal", "story", "trip", "show")

# What somebody did, the same in another word, and what one did not do.
DEEDS = (
    ("saw", "noticed", "see"), ("carried", "brought", "carry"), ("fixed", "repaired", "fix"),
    ("sold", "traded", "sell"), ("found", "discovered", "find"), ("washed", "cleaned", "wash"),
)  # fmt: skip
SYNONYMS = {deed: synonym for deed, synonym, _ in DEEDS}
BASE_FORMS = {deed: base for deed, _, base in DEEDS}
OPPOSITES = {
    "hot": "cold", "big": "little", "fast": "slow", "old": "young", "high": "low",
    "rich": "poor", "wet": "dry", "open": "closed", "early": "late", "heavy": "light",
}  # fmt: skip

# Purpose, the tool for it, what is done with it.
TOOLS = (
    ("cut the bread", "knife", "slice"),
    ("sweep the floor", "broom", "brush"),
    ("drive a nail into wood", "hammer", "hit"),
    ("dig a hole", "spade", "shovel"),
    ("write a letter", "pen", "write"),
    ("open the locked door", "key", "turn"),
    ("tie up the boat", "rope", "knot"),
    ("light the room", "lamp", "shine"),
    ("cut the paper", "scissors", "snip"),
    ("sew a button on", "needle", "stitch"),
    ("fell the tree", "axe", "chop"),
    ("catch some fish", "net", "scoop"),
    ("weigh the flour", "scale", "measure"),
    ("boil the soup", "kettle", "cook"),
    ("see far away", "telescope", "look"),
    ("cross the lake", "canoe", "paddle"),
    ("comb the wool", "rake", "pull"),
    ("smooth the plank", "file", "scrape"),
    ("carry the water", "bucket", "fetch"),
    ("reach the roof", "ladder", "climb"),
)

# Each activity is told in the same five steps; any step may be the one to predict.
ACTIVITIES = {
    "Making tea": (
        "fills the pot with water", "puts the pot on the fire", "waits until the water boils",
        "pours the water over the leaves", "drinks the hot tea from a cup",
    ),
    "Planting a tree": (
        "picks a sunny spot in the garden", "digs a deep hole", "sets the young tree into the hole",
        "covers the roots with earth", "gives the tree plenty of water",
    ),
    "Painting a wall": (
        "opens a tin of paint", "dips the brush into the paint", "moves the brush up and down the wall",
        "lets the wall dry", "puts a second coat on the wall",
    ),
    "Washing a dog": (
        "calls the dog into the yard", "sprays the dog with warm water", "rubs soap into its coat",
        "rinses the soap away", "dries the dog with a towel",
    ),
    "Baking bread": (
        "mixes flour with yeast", "kneads the dough on the table", "leaves the dough to rise",
        "slides the loaf into the oven", "takes the golden loaf out",
    ),
    "Rowing a boat": (
        "pushes the boat into the lake", "sits down on the bench", "grips both oars",
        "pulls the oars through the waves", "reaches the far shore",
    ),
    "Sending a letter": (
        "takes a sheet of paper", "writes a few lines to a friend", "folds the sheet twice",
        "glues a stamp on the envelope", "drops the envelope into the box",
    ),
    "Playing chess": (
        "lays the board on the table", "lines up the pieces", "moves a pawn forward",
        "captures the rival queen", "calls out checkmate",
    ),
}  # fmt: skip

# What one person did to another; how the other feels, what the other does next, why it was done.
EVENTS = (
    ("gave {b} a present", "grateful", "thank {a}", "to be kind"),
    ("broke the toy of {b}", "angry", "shout at {a}", "to be mean"),
    ("told {b} a joke", "amused", "laugh with {a}", "to be funny"),
    ("hid behind the door and scared {b}", "frightened", "run away from {a}", "to play a trick"),
    ("helped {b} carry the bags", "relieved", "offer {a} a drink", "to be useful"),
    ("forgot the birthday of {b}", "disappointed", "ignore {a}", "because of a bad memory"),
    ("praised the painting of {b}", "proud", "show {a} more paintings", "to cheer {b} up"),
    ("stole the lunch of {b}", "hungry", "report {a} to the teacher", "because of greed"),
    ("kept {b} awake all night", "sleepy", "go back to bed", "because of loud music"),
    ("moved far away from {b}", "lonely", "write to {a}", "to start a new job"),
    ("lied to {b} about the money", "betrayed", "stop trusting {a}", "to hide a debt"),
    ("won the race against {b}", "beaten", "train harder", "after months of practice"),
    ("spilled soup on {b}", "wet", "change clothes", "by sheer accident"),
    ("taught {b} to swim", "confident", "jump into the lake", "to prepare for the trip"),
    ("left {b} out of the game", "excluded", "play with others", "to keep the team small"),
    ("cooked a feast for {b}", "full", "wash the dishes", "to celebrate the harvest"),
    ("showed {b} the way home", "safe", "wave from the window", "because it was dark"),
    ("asked {b} a hard riddle", "puzzled", "look for the answer", "to pass the time"),
)

# A word, and per sense the phrases that can only mean that sense.
SENSES = {
    "bank": (
        ("put money in the bank", "asked the bank for a loan", "opened an account at the bank"),
        ("sat on the grassy bank", "moored at the muddy bank", "fished from the bank"),
    ),
    "bat": (
        ("swung the wooden bat", "hit the ball with a bat", "bought a bat for the game"),
        ("watched a bat fly at dusk", "heard a bat in the attic", "saw a bat hang upside down"),
    ),
    "ring": (
        ("wore a gold ring", "slipped the ring on a finger", "lost a silver ring"),
        ("heard the phone ring", "let the bell ring", "waited for the bell to ring"),
    ),
    "light": (
        ("switched on the light", "read by the light", "saw a light in the window"),
        ("packed a light bag", "ate a light meal", "carried a light load"),
    ),
    "spring": (
        ("planted seeds in spring", "waited for spring after the snow", "loved the flowers of spring"),
        ("drank from the spring", "found a spring in the rocks", "filled a jug at the spring"),
    ),
    "match": (
        ("struck a match", "lit the candle with a match", "kept a dry match"),
        ("won the match", "lost the match by a goal", "watched the match on the pitch"),
    ),
    "seal": (
        ("fed the seal at the zoo", "saw a seal on the ice", "heard the seal bark"),
        ("broke the wax seal", "stamped the seal on a letter", "checked the seal of the jar"),
    ),
    "plant": (
        ("watered the plant", "put the plant in a pot", "trimmed the plant"),
        ("worked at the steel plant", "closed the power plant", "ran a car plant"),
    ),
}  # fmt: skip

FRAGILE = ("glass", "cup", "egg", "bottle", "vase", "mirror")
STURDY = ("stone", "hammer", "brick", "anvil", "log", "rock")

NUMBER_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine")
