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
    english: str
    german: str  # as a predicate: «die Frau ist müde»
    kinds: frozenset

    @property
    def stem(self):
        return self.german.removesuffix("e")


@dataclass(frozen=True)
class Verb:
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
        Noun(english, plural.replace("-", ""), gender, german, german_plural.replace("-", ""), frozenset({*kinds.split(), english}))
        for english, plural, gender, german, german_plural, kinds in rows(text)
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
sister    | sisters    | f | Schwester | Schwestern  | person kin
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
key       | keys       | m | Schlüssel | Schlüssel   | thing
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
beautiful | schön     | queen flower picture garden house city park horse bird bag
cold      | kalt      | drink warm_food
hot       | heiß      | warm_drink warm_food milk
fresh     | frisch    | apple egg bread cheese milk water flower
tired     | müde      | person animal
hungry    | hungrig   | person animal
happy     | glücklich | person
sick      | krank     | person animal
""")
]

# present, perfect, past (with «yesterday»), modals, like to
FULL = "present perfect past modal like"


def read_verbs(text):
    verbs = []
    for english, after, german, particle, auxiliary, pattern, frames, modes in rows(text):
        pairs = [frame.split(">") for frame in frames.split(";")]
        verbs.append(
            Verb(
                tuple(english.split()),
                after,
                tuple(german.split()),
                particle,
                auxiliary,
                pattern,
                tuple((frozenset(s.split()), frozenset(o.split())) for s, o in pairs),
                frozenset(modes.replace("full", FULL).split()),
            )
        )
    return verbs


# English forms | word after | German forms | particle | auxiliary | takes | subjects > objects; ... | modes
VERBS = read_verbs("""
buy buys bought bought | | kaufe kauft kaufen gekauft | | haben | acc | person > thing food tea newspaper milk house | full
see sees saw seen | | sehe sieht sehen gesehen | | haben | acc | person > person animal thing house; animal > person animal | present perfect past modal
find finds found found | | finde findet finden gefunden | | haben | acc | person > key bag ball letter book picture dog cat; dog > ball mouse | present perfect past modal
look looks looked looked | for | suche sucht suchen gesucht | | haben | acc | person > key bag ball letter book dog cat child; dog > ball | present perfect past modal
read reads read read | | lese liest lesen gelesen | | haben | acc | person > text | full
write writes wrote written | | schreibe schreibt schreiben geschrieben | | haben | acc | person > letter book | full
eat eats ate eaten | | esse isst essen gegessen | | haben | acc | person > food | full
eat eats ate eaten | | fresse frisst fressen gefressen | | haben | acc | animal > apple bread cheese; cat > mouse cheese | full
drink drinks drank drunk | | trinke trinkt trinken getrunken | | haben | acc | person > drink; animal > water milk | full
wash washes washed washed | | wasche wäscht waschen gewaschen | | haben | acc | person > car dog horse child apple | present perfect past modal
open opens opened opened | | öffne öffnet öffnen geöffnet | | haben | acc | person > part bag letter | present perfect past modal
know knows knew known | | kenne kennt kennen gekannt | | haben | acc | person > person text city house park | present
love loves loved loved | | liebe liebt lieben geliebt | | haben | acc | person > person animal garden city | present
have has had had | | habe hat haben gehabt | | haben | acc | person > animal kin thing garden house | present
call calls called called | | rufe ruft rufen angerufen | an | haben | acc | person > person | full
invite invites invited invited | | lade lädt laden eingeladen | ein | haben | acc | person > person | full
help helps helped helped | | helfe hilft helfen geholfen | | haben | dat | person > person animal | full
thank thanks thanked thanked | | danke dankt danken gedankt | | haben | dat | person > person | present perfect past modal
follow follows followed followed | | folge folgt folgen gefolgt | | sein | dat | person > person animal; animal > person animal | present perfect past modal
belong belongs belonged belonged | to | gehöre gehört gehören gehört | | haben | dat | animal > person; thing > person; house garden > person | present
give gives gave given | | gebe gibt geben gegeben | | haben | dat acc | person > thing text food | present perfect past modal
show shows showed shown | | zeige zeigt zeigen gezeigt | | haben | dat acc | person > thing text animal house garden kitchen | present perfect past modal
sleep sleeps slept slept | | schlafe schläft schlafen geschlafen | | haben | place | person > house garden; animal > house garden kitchen table bed | full
work works worked worked | | arbeite arbeitet arbeiten gearbeitet | | haben | place | person > garden kitchen house city school forest | full
play plays played played | | spiele spielt spielen gespielt | | haben | place | young_one kin animal > garden house park kitchen forest | full
sing sings sang sung | | singe singt singen gesungen | | haben | place | person > garden kitchen park school; bird > garden park forest | full
live lives lived lived | | wohne wohnt wohnen gewohnt | | haben | place | person > house city forest | present modal
laugh laughs laughed laughed | | lache lacht lachen gelacht | | haben | | person > | present perfect past modal
sit sits sat sat | | sitze sitzt sitzen gesessen | | haben | place | person > garden kitchen park bed; animal > garden kitchen table bed | present modal
wait waits waited waited | for | warte wartet warten gewartet | | haben | auf acc | person > person; dog horse > person | present perfect past modal
talk talks talked talked | to | spreche spricht sprechen gesprochen | | haben | mit dat | person > person dog horse | full
go goes went gone | | gehe geht gehen gegangen | | sein | goal | person > garden kitchen house city park forest school | full
run runs ran run | | laufe läuft laufen gelaufen | | sein | goal | person > garden kitchen house park forest; dog cat horse mouse > garden kitchen house park forest | present perfect past modal
come comes came come | | komme kommt kommen gekommen | | sein | goal | person > garden kitchen house city park; dog cat mouse > garden kitchen house | present perfect past modal
get gets got got | up | stehe steht stehen aufgestanden | auf | sein | | person > | present perfect past modal
say says said said | | sage sagt sagen gesagt | | haben | clause | person > | present perfect
know knows knew known | | weiß weiß wissen gewusst | | haben | clause | person > | present
hope hopes hoped hoped | | hoffe hofft hoffen gehofft | | haben | clause | person > | present
ask asks asked asked | | frage fragt fragen gefragt | | haben | clause | person > | present perfect
""")

# weather verbs: the last English form is the one after «it is»; the tenses are present, past and progressive
WEATHER = read_verbs("""
rain rains rained raining | | regne regnet regnen geregnet | | haben | | weather > | present past
snow snows snowed snowing | | schneie schneit schneien geschneit | | haben | | weather > | present past
""")
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
    "because": "weil", "although": "obwohl", "while": "während", "when": "wenn", "that": "dass", "whether": "ob",
}
