// How a frame can be named, its title included.
(frame) => [...namesOf(frame), ...(frame.title && lasting(frame.title) ? [`[title=${css(frame.title)}]`] : [])]
