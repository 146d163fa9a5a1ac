"""The words of the course's English-German grammar, as tables.

One English word or phrase has one German counterpart in each setting that the
grammar allows: «eat» is *essen* for people and *fressen* for animals, «know»
is *kennen* with an object and *wissen* with a clause. Kinds (person, animal,
food, ...) keep sentences sensible; a noun's own English name is one of its
kinds, so that a verb can also list single nouns.
"""

from dataclasses import dataclass

NOM, ACC, DAT = "nominative", "accusative", "dative"
CASES = (NOM, ACC, DAT)


@dataclass(frozen=True)
class Noun:
    """A noun in both languages, with its gender and what kind of thing it names."""

    english: str
    english_plural: str  # "" where the grammar uses no plural
    gender: str  # "m", "f" or "n"
    german: str
    german_plural: str
    kinds: frozenset

    @property
    def german_dative_plural(self):
        """The dative plural adds -n, except after -n and -s."""
        return self.german_plural if self.german_plural[-1] in "ns" else self.german_plural + "n"


@dataclass(frozen=True)
class Adjective:
    """An adjective in both languages, and the kinds of nouns it fits."""

    english: str
    german: str  # as a predicate: «die Frau ist müde»
    kinds: frozenset

    @property
    def stem(self):
        return self.german.removesuffix("e")


@dataclass(frozen=True)
class Verb:
    """A verb in both languages: its forms, and what may stand around it."""

    english: tuple  # base form, third person, past, participle
    english_after: str  # «looks for», «gets up», or ""
    german: tuple  # ich form, er form, infinitive (also the plural form), participle
    particle: str = ""  # of a separable verb: «ruft ... an»
    auxiliary: str = "haben"
    pattern: str = ""  # what it takes: "", "acc", "dat", "dat acc", "place", "goal", "clause", or "auf acc", "mit dat"
    frames: tuple = ()  # pairs (kinds of subject, kinds of object or place)
    modes: frozenset = frozenset()  # tenses and modals that make sense with it

    @property
    def infinitive(self):
        return self.particle + self.german[2]


def rows(text):
    """The cells of a table written as lines with «|» between cells."""
    return [[cell.strip() for cell in line.split("|")] for line in text.strip().splitlines()]


def read_nouns(text):
    return [
        Noun(english, plural, gender, german, german_plural, frozenset({*kinds.split(), english}))
        for english, plural, gender, german, german_plural, kinds in rows(text.replace("| - ", "|   "))
    ]


NOUNS = read_nouns("""
man       | men        | m | Mann     | Männer       | person adult
woman     | women      | f | Frau     | Frauen       | person adult
king      | kings      | m | König    | Könige       | person adult
queen     | queens     | f | Königin  | Königinnen   | person adult
child     | children   | n | Kind     | Kinder       | person young_one
girl      | girls      | n | Mädchen  | Mädchen      | person young_one
mother    | -          | f | Mutter   | -            | person kin
father    | -          | m | Vater    | -            | person kin
brother   | brothers   | m | Bruder   | Brüder       | person kin
sister    | sisters    | f | Schwester | Schwestern   | person kin
dog       | dogs       | m | Hund     | Hunde        | animal
cat       | cats       | f | Katze    | Katzen       | animal
horse     | horses     | n | Pferd    | Pferde       | animal
bird      | birds      | m | Vogel    | Vögel        | animal
mouse     | mice       | f | Maus     | Mäuse        | animal
apple     | apples     | m | Apfel    | Äpfel        | food
egg       | eggs       | n | Ei       | Eier         | food
soup      | -          | f | Suppe    | -            | food mass warm_food
bread     | -          | n | Brot     | -            | food mass
cheese    | -          | m | Käse     | -            | food mass
water     | -          | n | Wasser   | -            | drink mass
milk      | -          | f | Milch    | -            | drink mass
tea       | -          | m | Tee      | -            | drink mass warm_drink
book      | books      | n | Buch     | Bücher       | thing text
letter    | letters    | m | Brief    | Briefe       | text
newspaper | newspapers | f | Zeitung  | Zeitungen    | text
car       | cars       | n | Auto     | Autos        | thing
bag       | bags       | f | Tasche   | Taschen      | thing
key       | keys       | m | Schlüssel | Schlüssel    | thing
flower    | flowers    | f | Blume    | Blumen       | thing
picture   | pictures   | n | Bild     | Bilder       | thing
ball      | balls      | m | Ball     | Bälle        | thing
door      | -          | f | Tür      | -            | part
window    | -          | n | Fenster  | -            | part
table     | -          | m | Tisch    | -            | furniture
bed       | -          | n | Bett     | -            | furniture
garden    | -          | m | Garten   | -            | place
kitchen   | -          | f | Küche    | -            | place
house     | -          | n | Haus     | -            | place
city      | -          | f | Stadt    | -            | place
park      | -          | m | Park     | -            | place
forest    | -          | m | Wald     | -            | place
school    | -          | f | Schule   | -            | place
""")

ADJECTIVES = [
    Adjective(english, german, frozenset(kinds.split()))
    for english, german, kinds in rows("""
old       | alt       | adult animal book bag car picture house city door table bed letter newspaper
young     | jung      | adult animal
small     | klein     | young_one animal thing apple egg garden kitchen house city park window table bed
big       | groß      | animal apple egg car bag picture ball garden kitchen house city park forest window table bed
new       | neu       | book letter newspaper car bag key picture ball door window table bed house school
beautiful | schön     | queen flower picture garden house city park horse bird dog bag
cold      | kalt      | drink warm_food
hot       | heiß      | warm_drink warm_food milk
fresh     | frisch    | apple egg bread cheese milk water flower
tired     | müde      | person animal
hungry    | hungrig   | person animal
happy     | glücklich | person
sick      | krank     | person animal
""")
]

MODES = {
    "most": "present perfect past modal",
    "full": "present perfect past modal like",
}


def read_verbs(forms, uses):
    """Verbs from two tables: their forms, and by infinitive what makes sense with them."""
    found = {infinitive: cells for infinitive, *cells in rows(uses)}
    verbs = []
    for english, after, german, particle, auxiliary, pattern in rows(forms):
        english, german = tuple(english.split()), tuple(german.split())
        modes, frames = found[particle + german[2]]
        pairs = tuple(tuple(frozenset(side.split()) for side in frame.split(">")) for frame in frames.split(";"))
        modes = frozenset(MODES.get(modes, modes).split())
        verbs.append(Verb(english, after, german, particle, auxiliary, pattern, pairs, modes))
    return verbs


VERBS = read_verbs(
    # English forms | word after them | German forms | particle | auxiliary | takes
    """
buy buys bought bought           |     | kaufe kauft kaufen gekauft              |     | haben | acc
see sees saw seen                |     | sehe sieht sehen gesehen                |     | haben | acc
find finds found found           |     | finde findet finden gefunden            |     | haben | acc
look looks looked looked         | for | suche sucht suchen gesucht              |     | haben | acc
read reads read read             |     | lese liest lesen gelesen                |     | haben | acc
write writes wrote written       |     | schreibe schreibt schreiben geschrieben |     | haben | acc
eat eats ate eaten               |     | esse isst essen gegessen                |     | haben | acc
eat eats ate eaten               |     | fresse frisst fressen gefressen         |     | haben | acc
drink drinks drank drunk         |     | trinke trinkt trinken getrunken         |     | haben | acc
wash washes washed washed        |     | wasche wäscht waschen gewaschen         |     | haben | acc
open opens opened opened         |     | öffne öffnet öffnen geöffnet            |     | haben | acc
know knows knew known            |     | kenne kennt kennen gekannt              |     | haben | acc
love loves loved loved           |     | liebe liebt lieben geliebt              |     | haben | acc
have has had had                 |     | habe hat haben gehabt                   |     | haben | acc
call calls called called         |     | rufe ruft rufen angerufen               | an  | haben | acc
invite invites invited invited   |     | lade lädt laden eingeladen              | ein | haben | acc
help helps helped helped         |     | helfe hilft helfen geholfen             |     | haben | dat
thank thanks thanked thanked     |     | danke dankt danken gedankt              |     | haben | dat
follow follows followed followed |     | folge folgt folgen gefolgt              |     | sein  | dat
belong belongs belonged belonged | to  | gehöre gehört gehören gehört            |     | haben | dat
give gives gave given            |     | gebe gibt geben gegeben                 |     | haben | dat acc
show shows showed shown          |     | zeige zeigt zeigen gezeigt              |     | haben | dat acc
sleep sleeps slept slept         |     | schlafe schläft schlafen geschlafen     |     | haben | place
work works worked worked         |     | arbeite arbeitet arbeiten gearbeitet    |     | haben | place
play plays played played         |     | spiele spielt spielen gespielt          |     | haben | place
sing sings sang sung             |     | singe singt singen gesungen             |     | haben | place
live lives lived lived           |     | wohne wohnt wohnen gewohnt              |     | haben | place
laugh laughs laughed laughed     |     | lache lacht lachen gelacht              |     | haben |
sit sits sat sat                 |     | sitze sitzt sitzen gesessen             |     | haben | place
wait waits waited waited         | for | warte wartet warten gewartet            |     | haben | auf acc
talk talks talked talked         | to  | spreche spricht sprechen gesprochen     |     | haben | mit dat
go goes went gone                |     | gehe geht gehen gegangen                |     | sein  | goal
run runs ran run                 |     | laufe läuft laufen gelaufen             |     | sein  | goal
come comes came come             |     | komme kommt kommen gekommen             |     | sein  | goal
get gets got got                 | up  | stehe steht stehen aufgestanden         | auf | sein  |
say says said said               |     | sage sagt sagen gesagt                  |     | haben | clause
know knows knew known            |     | weiß weiß wissen gewusst                |     | haben | clause
hope hopes hoped hoped           |     | hoffe hofft hoffen gehofft              |     | haben | clause
ask asks asked asked             |     | frage fragt fragen gefragt              |     | haben | clause
""",
    # infinitive | tenses («past» goes with «yesterday»), modals, «like to» | kinds of subject > of object or place; ...
    """
kaufen    | full            | person > thing food tea newspaper milk house
sehen     | most            | person > person animal thing house; animal > person animal
finden    | most            | person > key bag ball letter book picture dog cat; dog > ball mouse
suchen    | most            | person > key bag ball letter book dog cat child; dog > ball
lesen     | full            | person > text
schreiben | full            | person > letter book
essen     | full            | person > food
fressen   | full            | animal > apple bread cheese; cat > mouse cheese
trinken   | full            | person > drink; animal > water milk
waschen   | most            | person > car dog horse child apple
öffnen    | most            | person > part bag letter
kennen    | present         | person > person text city house park
lieben    | present         | person > person animal garden city
haben     | present         | person > animal kin thing garden house
anrufen   | full            | person > person
einladen  | full            | person > person
helfen    | full            | person > person animal
danken    | most            | person > person
folgen    | most            | person > person animal; animal > person animal
gehören   | present         | animal > person; thing > person; house garden > person
geben     | most            | person > thing text food
zeigen    | most            | person > thing text animal house garden kitchen
schlafen  | full            | person > house garden; animal > house garden kitchen table bed
arbeiten  | full            | person > garden kitchen house city school forest
spielen   | full            | young_one kin animal > garden house park kitchen forest
singen    | full            | person > garden kitchen park school; bird > garden park forest
wohnen    | present modal   | person > house city forest
lachen    | most            | person >
sitzen    | present modal   | person > garden kitchen park bed; animal > garden kitchen table bed
warten    | most            | person > person; dog horse > person
sprechen  | full            | person > person dog horse
gehen     | full            | person > garden kitchen house city park forest school
laufen    | most            | person dog cat horse mouse > garden kitchen house park forest
kommen    | most            | person > garden kitchen house city park; dog cat mouse > garden kitchen house
aufstehen | most            | person >
sagen     | present perfect | person >
wissen    | present         | person >
hoffen    | present         | person >
fragen    | present perfect | person >
""",
)

# the last English form of a weather verb is the one after «it is»
WEATHER = read_verbs(
    """
rain rains rained raining | | regne regnet regnen geregnet       | | haben |
snow snows snowed snowing | | schneie schneit schneien geschneit | | haben |
""",
    """
regnen   | present progressive past | weather > city forest park garden
schneien | present progressive past | weather > city forest park garden
""",
)
STATES = {"have", "know", "belong", "live", "love"}  # English verbs that last: no «often», no «because it is raining»

# English, then the German ich, er and plural forms
HAVE = ("have", "has", "have"), ("habe", "hat", "haben")
BE = ("am", "is", "are"), ("bin", "ist", "sind")
WAS = ("was", "was", "were"), ("war", "war", "waren")
MODALS = {
    "can": ("kann", "kann", "können"),
    "must": ("muss", "muss", "müssen"),
    "must not": ("darf", "darf", "dürfen"),  # «must not» forbids; «muss nicht» would only say there is no need
    "want": ("will", "will", "wollen"),
}

FREQUENCY = {"often": "oft", "always": "immer", "never": "nie"}  # before the English verb
FRONTED = {"often": "oft", "sometimes": "manchmal", "today": "heute", "tomorrow": "morgen", "yesterday": "gestern"}
CONJUNCTIONS = {
    "because": "weil",
    "although": "obwohl",
    "while": "während",
    "when": "wenn",
    "that": "dass",
    "whether": "ob",
}
