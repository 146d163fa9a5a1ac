"""Sentences chosen for what they show; the generator keeps them out of every split."""

# English, German, what to look at
EXAMPLES = (
    (
        "the king gives the queen the apple .",
        "der König gibt der Königin den Apfel .",
        "«the» is der, der and den: by gender and by case",
    ),
    (
        "the woman has bought a new car .",
        "die Frau hat ein neues Auto gekauft .",
        "the participle goes to the end",
    ),
    (
        "yesterday the children went into the forest .",
        "gestern sind die Kinder in den Wald gegangen .",
        "the verb stays second; «went» becomes sind ... gegangen",
    ),
    (
        "the king knows that the queen has eaten the soup .",
        "der König weiß , dass die Königin die Suppe gegessen hat .",
        "in a subordinate clause the finite verb comes last",
    ),
    (
        "when it rains , the girls play in the small kitchen .",
        "wenn es regnet , spielen die Mädchen in der kleinen Küche .",
        "a clause in front turns subject and verb around",
    ),
    (
        "the cat sleeps under the bed because it is tired .",
        "die Katze schläft unter dem Bett , weil sie müde ist .",
        "«it» is sie, because the cat is feminine",
    ),
    (
        "the queen buys the letter because it is old .",
        "die Königin kauft den Brief , weil er alt ist .",
        "«it» is er, because the letter is masculine",
    ),
    (
        "the girl does not read the newspaper .",
        "das Mädchen liest die Zeitung nicht .",
        "«not» with a definite object is nicht, after it",
    ),
    (
        "the girl does not write a letter .",
        "das Mädchen schreibt keinen Brief .",
        "«not» with «a» is kein, with the case of the object",
    ),
    (
        "the child must not open the old window .",
        "das Kind darf das alte Fenster nicht öffnen .",
        "«must not» is darf nicht; the infinitive goes to the end",
    ),
    (
        "my sister calls the old king .",
        "meine Schwester ruft den alten König an .",
        "one verb in two places: anrufen",
    ),
    (
        "the horse eats a fresh apple .",
        "das Pferd frisst einen frischen Apfel .",
        "animals: fressen",
    ),
    (
        "the man eats a fresh apple .",
        "der Mann isst einen frischen Apfel .",
        "people: essen",
    ),
    (
        "she likes to read old books .",
        "sie liest gern alte Bücher .",
        "«likes to» becomes the adverb gern",
    ),
    (
        "has the old dog waited for him ?",
        "hat der alte Hund auf ihn gewartet ?",
        "a question; «for» is auf, because of waiting",
    ),
)
