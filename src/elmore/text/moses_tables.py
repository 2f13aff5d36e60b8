"""What the rules of moses.py know: classes of characters, English abbreviations.

Written by tools/moses_tables.py from the tables of sacremoses (MIT license, alvations) and of
Unicode, which are frozen here: other versions of them change no token.
"""

CLASSES = (
    "c9_5c14_5x6'x4,-.xd10x7A26x5-a18sa7x10_x26_x9ax10ax4ax5A23xA7a24xa8AaAaAaAaAaAaAaAaAaAaAaA"
    "aAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAa2AaAaAaAaAaAaAaAa2AaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaA"
    "aAaAaAaA2aAaAa3A2aAaA2aA3a2A4aA2aA3a3A2aA2aAaAaA2aAa2AaA2aA3aAaA2a2A2a3A6aA2aA2aAaAaAaAaAa"
    "AaAaAa2AaAaAaAaAaAaAaAaAa2A2aAaA3aAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAa"
    "Aa7A2aA2a2AaA4aAaAaAaAa69Aa36A7a2x4A12x14a5x7AxAx17m69am42AaAaAxAax2a4xAx6AxA3xAxA2aA17xA9"
    "a35Aa2A3a3AaAaAaAaAaAaAaAaAaAaAaAa5AaxAaA2a2A51a48AaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaxm7AaA"
    "aAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaA2aAaAaAaAaAaAa2AaAaAaAaAaAaAaAaAaAaAaA"
    "aAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaxA38x2Ax7a39x9m31"
    "A14xAxA2xA2xAx8A27x5A3x29A11x5A56mA7n10x4A102xA8x2m2A8xm3A3n10A3x2Ax16A48m11x2A101x14n10A3"
    "3m9A2x4Ax2mx2A24m2A19mx18A25m3x60m8A19x23m24xmA6m6A97m4A15x2n10xA19xA8x2A2x2A22xA7xAx3A4x2"
    "A9x2A2x2A4x8Ax4A2xA5x2n10A2x12mx2A3xA6x4A2x2A22xA7xA2xA2xA2x2AxA5x4A2x2A3x3Ax7A4xAx7n10A6x"
    "11A3xA9xA3xA22xA7xA2xA5x2A10xA3xA3x2Ax15A4x2n10x10m3A3xA3xA8x2A2x2A22xA7xA2xA5x2A9x2A2x2A3"
    "x7mA2x4A2xA5x2n10xAx16A2xA6x3A3xA4x3A2xAxA2x3A2x3A3x3A12x4A5x3A3xA4x2Ax6Ax14n10x16A4mA8xA3"
    "xA23xA16x2mA8xA3xA4x7A2xA2x6A4x2n10x17A3xA8xA3xA23xA10xA5x2A9xA3xA4x7A2x7AxA4x2n10xA2x13mA"
    "3xA8xA3xA51xA3xA5x8Ax8A4x2n10x10A6xmA2xA18x3A24xA9xAx2A7x3Ax4A6xAxA8x6n10x2A2x13A58x5A7m6A"
    "mxn10x39A2xAx2A2xAx2Ax6A4xA7xA3xAxAx2A2xA17x2A5xAxm5Ax2n10x2A4x32Ax23m2x6n10x11mxmxmx4m2A8"
    "xA36x4A17m3xm2A16xA36x9mx57A55mA2mA5n10x6A19m2A4m5A25m7Amn10m2A2x2A38xAx5Ax2A43xA333xA4x2A"
    "7xAxA4x2A41xA4x2A33xA4x2A7xAxA4x2A15xA57xA4x2A67x2m2Ax32A16x16A85x3y6x3A620x2A17_A26x5A75x"
    "3I3A8x7A13xA7mx10A20mx11A20x12A13xA3xA2x12A52m2A19m11x3Ax4Amx2n10x33m3xmn10x6A88x8A43x5A70"
    "x10A31xA12x4A9m3x10n10A30x2A5x11A44x4A26x6n10x38A28x4A63xmA20m8x2mn10x6n10x13Ax8m31x49A52m"
    "A15mA7x4n10x17m9x12A42mA5n10A44mA11m2x12A54mAx8n10x3A3n10A36x2y9x71m3xm21A4mA6mA2m3x6a192m"
    "39A14m11AaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAa"
    "AaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAa9AaAaAaAaAaAaAaAaAaAaA"
    "aAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAa9A8a6x2A6x2a8"
    "A8a8A8a6x2A6x2a8xAxAxAxAa8A8a14x2a8A8a8A8a8A8a5xa2A5xax3a3xa2A5x3a4x2a2A4x4a8A5x5a3xa2A5x3"
    "_11xmzx26_2x5_x47_x17ax13ax16a13x51m33x17Ax4Ax2aA3a2A3axAx3A5x6AxAxAxA4xaA4aA4ax2a2A2x5Aa4"
    "x4ax17I16i16I3AaI4x7p806A26a26p226ap1587A47xa47xAaA3a2AaAaAaA4aAa2Aa8A3aAaAaAaAaAaAaAaAaAa"
    "AaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAa2x6AaAam3A"
    "ax12a38xax5ax2A56x7Ax15mA23x9A7xA7xA7xA7xA7xA7xA7xA7xA32x47Ax464_x5Ax35m6xA5x6Ax4A86x2m2x2"
    "A3xA90xA4x5A41x3A94x17A27x53A16x28160A1165x67A46x2A269x3A16n10A2x20AaAaAaAaAaAaAaAaAaAaAaA"
    "aAaAaAaAaAaAaAaAaAaAaAaAm4xA8m2xA2aAaAaAaAaAaAaAaAaAaAaAaAaAa3mA71I10m2x37A9x2AaAaAaAaAaAa"
    "Aa3AaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAaAa10AaAaA2aAaAaAaAaAx2AaAax"
    "AaAa3AaAaAaAaAaAaAaAaAaAaA4x2A2x3yxyx63Aa3A7mA3mA4mA28x4mx19A52x12A69mx10n10x6m18A6x3Ax3mn"
    "10A33m3x2A36x12A29x3A51mA12mx14An10x6A5mA10n10A5xA55x9A14x2n10x6A23x3Am3A65mAmAx24A3x2A16x"
    "2A5x10A6x2A6x2A6x9A7xA7xa43xa4y4a2x10y80A43xm2x2n10x11190A23x4A49x8964a7x12a5x5A12xA13xA5x"
    "AxA2xA2xA108x33A363x18A64x2A54x40A12x4m16x16m16x64A5xA135x19n10x7A26x6a26x11A89x3A6x2A6x2A"
    "6x2A3x544mx226mx149m5x173y40x136y36x1285m3xm2x5m4x40m3x4Ax165m2x473y51x49m4x387m2x153m11x4"
    "9m4x122m3x53m14Ax41mx2m2x10m4x45m9A2x7mx61m3x36m12Amx16m2x44Ax12m3x48m13Ax8mAm2xm2x92m9A2m"
    "x6mx160m10A2x21m4x55mAxm7x2m2x2m2Ax9mx10m2x2m7x3m5x192m13Am3Ax23mx81m18A2x235m7x2m7A2x27m2"
    "x82m15Amx106m11A2x101m15x256m13A2x133y32x80m6xm2x2m4xmxm2x141m7x2m6Ax3mx28m10x40mAm5xm4x8m"
    "x9m11x46m16x405m8xm7Ax82m22xm14x122m6x3mxm2xm3Am2Axmx66m5xm2xm4Ax347m4x19449m5x59m7x1048mx"
    "m55x7m4x81mx11m2x19627m2x4705m46x2m23x542m5x3m6x8m8x2m7x30m4x148m3x469y26x26y7xy18x26y26x2"
    "6y4xyxy7xy11x26y26x26y26x26y26x26y26x26y26x26y26x26y26x26y26x26y28x28y25xy6x26y25xy6x26y25"
    "xy6x26y25xy6x26y25xy6xyx564m55x4m50x8mx14mx22m5xm15x1360m7xm17x2m7xm2xm5x261m7x375mx61m4x1"
    "504m7x75y34m6Ax1717p486r26p507m5p1792x787744m96x128m240x196112"
)
"""The class of every code point, in runs: a letter, and how often if not once.

A and a: letters, upper and lower case; s: the letter s; I and i: letters that are numbers; d: ASCII
digits; n: other numbers; . , ' - themselves (- is ` too); _: white space; c: dropped control
characters. Each of these is a token of its own: p: pictures; r: letters of flags; y: lower case
that is no letter to sacremoses; x: all else. These are parts of the character before: m: marks; z:
the zero-width joiner, which also joins pictures.
"""
PREFIXES = """
A B C D E F G H I J K L M N O P Q R S T U V W X Y Z Adj Adm Adv Asst Bart Bldg Brig Bros Capt Cmdr
Col Comdr Con Corp Cpl DR Dr Drs Ens Gen Gov Hon Hr Hosp Insp Lt MM MR MRS MS Maj Messrs Mlle Mme
Mr Mrs Ms Msgr Op Ord Pfc Ph Prof Pvt Rep Reps Res Rev Rt Sen Sens Sfc Sgt Sr St Supt Surg v vs
i.e rev e.g Rs Nos Nr Jan Feb Mar Apr Jun Jul Aug Sep Oct Nov Dec
"""
"""Words that keep their period."""
NUMERIC_PREFIXES = "Art No pp"
"""Words that keep it before a number."""
