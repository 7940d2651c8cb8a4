"""Letters that look like ASCII ones.

Made from `confusables.txt` of Unicode Security Mechanisms (UTS #39), version 17.0.0, © 2025 Unicode, Inc., under the
Unicode License v3: letters that are confusable with ASCII letters and that NFKC leaves as they are, in small letters
(what looks like both `I` and `l` is `i` where it is a capital). To them come small, circled and squared capitals, by
their names in the Unicode Character Database. Letters of scripts that run from right to left are left out, because
no reader takes them so within a Latin word.
"""

from typing import Final

_LOOK_ALIKES: Final = {
    "a": "ɑΑαАаᎪᗅᴀꓮ𐊠𖽀🅐🅰",
    "aa": "Ꜳꜳ",
    "ae": "ÆæӔӕ",
    "ao": "Ꜵꜵ",
    "au": "Ꜷꜷ",
    "av": "ꜸꜹꜺꜻ",
    "ay": "Ꜽꜽ",
    "b": "ƀƂƃƄɓʙΒБВЬѢѣҌҍᏏᏴᑲᑳᖯᗷⲂꓐꞴ𐊂𐊡𐌁🅑🅱",
    "bl": "Ы",
    "c": "ȼСсҪҫငၚᏟᴄⲤⲥꓚꮯ𐊢𐌂𐐕𐐽𐔜🅒🅲",
    "d": "ÐĐđƉƌɖɗԁᎠᏧᑯᗞᗪᴅꓒꓓ🅓🅳",
    "dz": "ʣ",
    "e": "ɆɇΕЕеҽҿᎬᴇⴹꓰꬲ𐊆𑢦𑢮🅔🅴",
    "f": "ƑƒϜքᖴᵮẝꓝꜰꞘꞙꬵ𐊇𐊥𐔥𑢢𑣂🅕🅵",
    "fn": "ʩ",
    "g": "ƍǤǥɠɡɢԌցᏀᏳᶃꓖ🅖🅶",
    "h": "ĦħɦʜΗНћҢһӇӉհᎻᏂᏲᕼⱧⲎꓧꚕ𐋏🅗🅷",
    "i": "ıƖƗɨɩɪΙιІіӀւᎥᵻᵼⲒⲓꙇꭵ𑣃🅘🅸",
    "j": "ɈɉͿϳЈјᎫᒍᴊꓙꞲ🅙🅹",
    "k": "ƙΚКҚҞᏦᛕᴋⱩⲔꓗꝀ𐔘🅚🅺",
    "l": "ŁłƚǀɫɭʟӏᏞᒪᛁⳐⵏꓡꓲ𐊊𐌉𐐛𐔦𑢣𑢲𖼖𖼨🅛🅻",
    "ll": "ǁ",
    "lo": "Ю",
    "ls": "ʪ",
    "lz": "ʫ",
    "m": "ΜϺМӍᎷᗰᛖᴍⲘꓟ𐊰𐌑🅜🅼",
    "n": "ŋƝƞɳɴΝηղոռᵰⲚꓠ𐔓🅝🅽",
    "o": "ØøƟɵΘΟθοσϭОоѲѳӨөՕօଠഠဝჿዐᎾᏫᴏᴑⲐⲑⲞⲟⴱⵁⵔꓳꝊꝋꬽꬾꭴꮎꮻ𐊒𐊫𐐄𐐬𐓂𐓪𐔖𑢵𑣈𑣗🅞🅾",
    "oe": "Œœ",
    "oo": "ꚘꚙꝎꝏ",
    "p": "þƥƿΡρϸРрᏢᑭᴘᵽⲢⲣⳎⳏꓑ𐊕🅟🅿",
    "q": "ʠԛգզⵕꞯ🅠🆀",
    "r": "ƦɍɼɽʀгғᎡᏒᖇᴦᵲⲅꓣꭇꭈꮁ𐒴𖼵🅡🆁",
    "rn": "ɱᵯ𑜀",
    "s": "ƽʂЅѕՏടᏕᏚᵴꓢꜱꮪ𐊖𐐠𐑈𑣁𖼺🅢🆂",
    "t": "ŦŧƭƮȾΤТҬᎢᴛᵵⲦꓔ𐊗𐊱𐌕𑢼𖼊🅣🆃",
    "tf": "ꝷ",
    "ts": "ʦ",
    "u": "ɄʋυџՍսሀᏌᑌᴜᵾꓴꞟꭎꭒꮜ𐓎𐓶𑢸𑣘𖽂🅤🆄",
    "ue": "ᵫ",
    "uo": "ꭣ",
    "v": "νѴѵᏙᐯᴠⴸꓦꛟꮩ𐔝𑜆𑢠𑣀𖼈🅥🆅",
    "w": "ɯшѡѽԜԝաᎳᏔᴡⲽꓪꝡꮃ𑓅𑜊𑜎𑜏🅦🆆",
    "x": "ΧХхҲᕁᕽᚷⲬⵝꓫꞳ𐊐𐊴𐌗𐔧🅧🆇",
    "y": "ƴɎɏɣʏΥγУуҮүҰұყᎩᎽᶌỿⲨⲩꓬꭚ𐊲𑢤𑣜𖽃🅨🆈",
    "z": "ƵƶȤȥʐΖᏃᴢᵶꓜꮓ𑢩𑣄🅩🆉",
}

ASCII_OF: Final = {char: ascii_form for ascii_form, chars in _LOOK_ALIKES.items() for char in chars}
"""The ASCII letters that each of these letters looks like."""
