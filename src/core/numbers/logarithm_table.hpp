// The table of logarithm.hpp: a number near 1 / z for each of 256 ranges of z, and its logarithm.
//
// The ranges are those of doubles whose bits differ by less than 2^44, from `first_bits` on; one of
// them is [1 - 2^-10, 1 + 2^-9), and has the number 1.  `inverse` is a multiple of 2^-25, and
// |z * inverse - 1| <= 2^-9 in the whole range.  Of the 401 multiples nearest to the inverse of the
// range's middle it is the one for which `log`, the logarithm of 1 / inverse, needs the least
// rounding: `log` is accurate to 0.008 ulp.  (tests/core/test_numbers.py checks every row.)
#pragma once

#include <cstdint>

namespace arborand {
namespace ARBORAND_ISA {

struct LogarithmRow {
    double inverse, log;
};

namespace logarithm_table {

constexpr std::uint64_t first_bits = 0x3FE6080000000000;  // of 0.6884765625

alignas(64) constexpr LogarithmRow rows[256] = {
    // clang-format off
    {0x1.734f25p+0, -0x1.7cc83be5445e3p-2}, {0x1.724291p+0, -0x1.79e27f8bcf65ap-2},
    {0x1.7137d3p+0, -0x1.76ffbfeb314fep-2}, {0x1.702e25p+0, -0x1.741dde54640bp-2},
    {0x1.6f2626p+0, -0x1.713e99a06503ap-2}, {0x1.6e1f2dp+0, -0x1.6e602046dcd76p-2},
    {0x1.6d1a0ap+0, -0x1.6b84bcdbdc3abp-2}, {0x1.6c168ap+0, -0x1.68abe809bac42p-2},
    {0x1.6b14318p+0, -0x1.65d44c6faad43p-2}, {0x1.6a138b8p+0, -0x1.62ff773999f86p-2},
    {0x1.6914888p+0, -0x1.602d43ca076a1p-2}, {0x1.6816e1p+0, -0x1.5d5cedcd71ddap-2},
    {0x1.671a3dp+0, -0x1.5a8d7fadd8747p-2}, {0x1.661eeap+0, -0x1.57bfda5488223p-2},
    {0x1.6524cp+0, -0x1.54f39037b15e4p-2}, {0x1.642cdp+0, -0x1.522bb67373e1p-2},
    {0x1.6335998p+0, -0x1.4f64033ea0ee1p-2}, {0x1.623f46p+0, -0x1.4c9cf0394c077p-2},
    {0x1.614b54p+0, -0x1.49dad4b3c8b0dp-2}, {0x1.6058478p+0, -0x1.47196bf31229p-2},
    {0x1.5f665a8p+0, -0x1.445961be37b74p-2}, {0x1.5e75dc8p+0, -0x1.419ba2835a05ep-2},
    {0x1.5d86798p+0, -0x1.3edf3e31167bdp-2}, {0x1.5c98c9p+0, -0x1.3c25f5e31e493p-2},
    {0x1.5babc88p+0, -0x1.396cd7e2bbe4dp-2}, {0x1.5ac076p+0, -0x1.36b6d3e3dce4ap-2},
    {0x1.59d64ep+0, -0x1.34026c1ee34c9p-2}, {0x1.58ed05p+0, -0x1.314ec4f531ecap-2},
    {0x1.58055bp+0, -0x1.2e9e1cac120bcp-2}, {0x1.571ef48p+0, -0x1.2bef697bc48c9p-2},
    {0x1.56393ap+0, -0x1.2940eb3d73df8p-2}, {0x1.55557b8p+0, -0x1.2696939347526p-2},
    {0x1.547256p+0, -0x1.23ec403deb546p-2}, {0x1.5390dfp+0, -0x1.2145374cd2f22p-2},
    {0x1.52b01cp+0, -0x1.1e9e8b2082fa3p-2}, {0x1.51d05a8p+0, -0x1.1bf92889a0d9dp-2},
    {0x1.50f282p+0, -0x1.1957d2cd9c6a9p-2}, {0x1.5015228p+0, -0x1.16b631d8cab92p-2},
    {0x1.4f38a38p+0, -0x1.141582644852fp-2}, {0x1.4e5e29p+0, -0x1.117945b27a018p-2},
    {0x1.4d84548p+0, -0x1.0edd517c7540ap-2}, {0x1.4cab9cp+0, -0x1.0c4312a614696p-2},
    {0x1.4bd403p+0, -0x1.09aa98706a58fp-2}, {0x1.4afd18p+0, -0x1.07128844b6158p-2},
    {0x1.4a2814p+0, -0x1.047eaed5e5426p-2}, {0x1.49536f8p+0, -0x1.01ea54146219ep-2},
    {0x1.487ff08p+0, -0x1.feafc29c460cap-3}, {0x1.47ae6ap+0, -0x1.f993dd4af578p-3},
    {0x1.46dd208p+0, -0x1.f47630d6bb343p-3}, {0x1.460d1a8p+0, -0x1.ef5d2cc17ae0cp-3},
    {0x1.453db58p+0, -0x1.ea44dcd2456aep-3}, {0x1.446f3ap+0, -0x1.e52f0e1e38506p-3},
    {0x1.43a29c8p+0, -0x1.e021d2bc24dd9p-3}, {0x1.42d6a98p+0, -0x1.db159e5116dc8p-3},
    {0x1.420b6bp+0, -0x1.d60ab46cfd577p-3}, {0x1.4140f18p+0, -0x1.d10182b616caep-3},
    {0x1.4077cep+0, -0x1.cbfdad1559a8bp-3}, {0x1.3fafbf8p+0, -0x1.c6fd9f3ab974bp-3},
    {0x1.3ee8bep+0, -0x1.c2012ed962111p-3}, {0x1.3e22dcp+0, -0x1.bd08dbc3bae39p-3},
    {0x1.3d5d9dp+0, -0x1.b8118c2f8215ap-3}, {0x1.3c9991p+0, -0x1.b31ee76d9e4cfp-3},
    {0x1.3bd5dc8p+0, -0x1.ae2b68c45a054p-3}, {0x1.3b13fe8p+0, -0x1.a940ca0870085p-3},
    {0x1.3a523dp+0, -0x1.a453dda26a3f3p-3}, {0x1.3991afp+0, -0x1.9f6bbf688555bp-3},
    {0x1.38d1e28p+0, -0x1.9a858fbc803a5p-3}, {0x1.38135cp+0, -0x1.95a4b98f61875p-3},
    {0x1.3755a68p+0, -0x1.90c646e1c666dp-3}, {0x1.369883p+0, -0x1.8be89e7b35981p-3},
    {0x1.35dc9cp+0, -0x1.87102a84d43cp-3}, {0x1.35218p+0, -0x1.823a0654d62c1p-3},
    {0x1.3467478p+0, -0x1.7d66da98aaf66p-3}, {0x1.33ae98p+0, -0x1.789afc13fb876p-3},
    {0x1.32f60cp+0, -0x1.73cd2884d46dap-3}, {0x1.323e6dp+0, -0x1.6f02a1a733fbap-3},
    {0x1.3187d58p+0, -0x1.6a3c20c9583e5p-3}, {0x1.30d1348p+0, -0x1.657284a464c81p-3},
    {0x1.301cdc8p+0, -0x1.60b56cf8aff03p-3}, {0x1.2f68a5p+0, -0x1.5bf66074eb73cp-3},
    {0x1.2eb4c8p+0, -0x1.5736e5b00bca6p-3}, {0x1.2e02638p+0, -0x1.527e91061ab7fp-3},
    {0x1.2d50658p+0, -0x1.4dc62a79956a6p-3}, {0x1.2ca00f8p+0, -0x1.491641cade374p-3},
    {0x1.2bef658p+0, -0x1.44615aea7d2c1p-3}, {0x1.2b409c8p+0, -0x1.3fb68965463f7p-3},
    {0x1.2a91c88p+0, -0x1.3b08b1c37f293p-3}, {0x1.29e3f5p+0, -0x1.365eff614ee1fp-3},
    {0x1.2937338p+0, -0x1.31b9f3b1a2c5dp-3}, {0x1.288b098p+0, -0x1.2d164a6467443p-3},
    {0x1.27dfffp+0, -0x1.2877b4d4b8e12p-3}, {0x1.2735478p+0, -0x1.23d8b2ac71de8p-3},
    {0x1.268b888p+0, -0x1.1f3dc378d8f6fp-3}, {0x1.25e2258p+0, -0x1.1aa2ad363f6b8p-3},
    {0x1.2539c3p+0, -0x1.160bee18ad45fp-3}, {0x1.249274p+0, -0x1.117a1422684ecp-3},
    {0x1.23ebbbp+0, -0x1.0ce9b8c898845p-3}, {0x1.23451fp+0, -0x1.08578d51a41e2p-3},
    {0x1.229fc1p+0, -0x1.03cb84b0cee32p-3}, {0x1.21fb538p+0, -0x1.fe870f0d9cc3bp-4},
    {0x1.2157e58p+0, -0x1.f58010b46d80ep-4}, {0x1.20b4578p+0, -0x1.ec723198915f9p-4},
    {0x1.2011d18p+0, -0x1.e36dd9b6cc8dap-4}, {0x1.1f7013p+0, -0x1.da6f84f7ff275p-4},
    {0x1.1ecf8ap+0, -0x1.d17d63519e745p-4}, {0x1.1e2f168p+0, -0x1.c8877223a66b2p-4},
    {0x1.1d8efap+0, -0x1.bf91595925f99p-4}, {0x1.1cf04bp+0, -0x1.b6aabefabc1a3p-4},
    {0x1.1c51e1p+0, -0x1.adc3104d11847p-4}, {0x1.1bb4c58p+0, -0x1.a4e94772ff3cfp-4},
    {0x1.1b17d1p+0, -0x1.9c0ccacccf82dp-4}, {0x1.1a7bc7p+0, -0x1.9338ab555725ap-4},
    {0x1.19e04b8p+0, -0x1.8a67c0c4c7665p-4}, {0x1.1945508p+0, -0x1.8199473bfec04p-4},
    {0x1.18aaf4p+0, -0x1.78cefb43cd8b6p-4}, {0x1.18113ep+0, -0x1.70095b6e3684ep-4},
    {0x1.17787p+0, -0x1.674c32132539cp-4}, {0x1.16e09d8p+0, -0x1.5e98ae212f5c9p-4},
    {0x1.164898p+0, -0x1.55dd7d907d9dfp-4}, {0x1.15b1ap+0, -0x1.4d2d0dd185e8bp-4},
    {0x1.151ba28p+0, -0x1.44865a31bc2a1p-4}, {0x1.14861fp+0, -0x1.3be205ace5ec8p-4},
    {0x1.13f0aap+0, -0x1.3339daf119cb6p-4}, {0x1.135c5bp+0, -0x1.2a9e13e44a51ep-4},
    {0x1.12c8718p+0, -0x1.220391a2fc17fp-4}, {0x1.1235d9p+0, -0x1.19781683ce009p-4},
    {0x1.11a2dap+0, -0x1.10e20a6c839cfp-4}, {0x1.1110fdp+0, -0x1.08585e59d8912p-4},
    {0x1.107fbe8p+0, -0x1.ffa6e002b8cecp-5}, {0x1.0feeebp+0, -0x1.eea083605091cp-5},
    {0x1.0f5f288p+0, -0x1.ddb1445d57dccp-5}, {0x1.0ecf678p+0, -0x1.ccb937bdcb7e5p-5},
    {0x1.0e403b8p+0, -0x1.bbc9cb5e2d0fap-5}, {0x1.0db1de8p+0, -0x1.aae9f37f43dd7p-5},
    {0x1.0d246cp+0, -0x1.9a1d1296e99a5p-5}, {0x1.0c9776p+0, -0x1.89563047e4cd3p-5},
    {0x1.0c0a5fp+0, -0x1.78828d1332adp-5}, {0x1.0b7e68p+0, -0x1.67c8802d4918p-5},
    {0x1.0af2fcp+0, -0x1.57165a003b92ep-5}, {0x1.0a6839p+0, -0x1.466fc60280489p-5},
    {0x1.09ddeep+0, -0x1.35cef50978d84p-5}, {0x1.0954318p+0, -0x1.2536ab47f2506p-5},
    {0x1.08cae9p+0, -0x1.14a3c6af8b348p-5}, {0x1.0842488p+0, -0x1.041ca01dbc6e8p-5},
    {0x1.07ba328p+0, -0x1.e73b73cf5c14p-6}, {0x1.07327f8p+0, -0x1.c644afa0da14ep-6},
    {0x1.06ab728p+0, -0x1.a5655a7c13b53p-6}, {0x1.06251f8p+0, -0x1.84a2834a8069bp-6},
    {0x1.059f23p+0, -0x1.63e407650c429p-6}, {0x1.0519a08p+0, -0x1.4332a9b8fddbdp-6},
    {0x1.0494b58p+0, -0x1.2295c5ce5903fp-6}, {0x1.040fe98p+0, -0x1.01efdc0595d1fp-6},
    {0x1.038c59p+0, -0x1.c30e1c8c22f9ep-7}, {0x1.030956p+0, -0x1.8261893541652p-7},
    {0x1.028672p+0, -0x1.41a39115641b4p-7}, {0x1.0204288p+0, -0x1.01116ed78af5p-7},
    {0x1.01829p+0, -0x1.816d493a32d46p-8}, {0x1.0101208p+0, -0x1.009fb5139c913p-8},
    {0x1.0080928p+0, -0x1.00e482c2f170dp-9}, {0x1p+0, 0.0},
    {0x1.fe01e5p-1, 0x1.ff19c52bae4e4p-9}, {0x1.fc0806p-1, 0x1.fdf7a0b1433aap-8},
    {0x1.fa1151p-1, 0x1.7de3393bc2fffp-7}, {0x1.f81f33p-1, 0x1.fc1e981152471p-7},
    {0x1.f6315fp-1, 0x1.3cdf88d550b08p-6}, {0x1.f4463ep-1, 0x1.7b9541fd74891p-6},
    {0x1.f2600ap-1, 0x1.b9e6b9be83211p-6}, {0x1.f07c6fp-1, 0x1.f81f61e857b8bp-6},
    {0x1.ee9d24p-1, 0x1.1b02f45402912p-5}, {0x1.ecc0e2p-1, 0x1.39e1ce609e26ep-5},
    {0x1.eae8abp-1, 0x1.589b156e53b63p-5}, {0x1.e912bep-1, 0x1.774ba0e3c11cap-5},
    {0x1.e7425dp-1, 0x1.95bc755eb4dd6p-5}, {0x1.e5744ep-1, 0x1.b42332d35c151p-5},
    {0x1.e3a891p-1, 0x1.d27fa0beee02dp-5}, {0x1.e1e27p-1, 0x1.f0999c027a6e2p-5},
    {0x1.e01e4p-1, 0x1.07577159b0913p-4}, {0x1.de5deap-1, 0x1.164f4b4ac0bdap-4},
    {0x1.dca049p-1, 0x1.253def98b216bp-4}, {0x1.dae589p-1, 0x1.3421bbc24e3edp-4},
    {0x1.d92e62p-1, 0x1.42f44b9bb64eep-4}, {0x1.d77b99p-1, 0x1.51aeb2c07a254p-4},
    {0x1.d5ca5bp-1, 0x1.6069412be35abp-4}, {0x1.d41d0fp-1, 0x1.6f0ee56e6eda1p-4},
    {0x1.d2729ep-1, 0x1.7da8eb67c39afp-4}, {0x1.d0ccp-1, 0x1.8c2e9d642231dp-4},
    {0x1.cf277fp-1, 0x1.9aaed93ae367ap-4}, {0x1.cd85fdp-1, 0x1.a921ae45812fbp-4},
    {0x1.cbe646p-1, 0x1.b791a34be1286p-4}, {0x1.ca4ac1p-1, 0x1.c5e92c0635527p-4},
    {0x1.c8b2b1p-1, 0x1.d42e99ef02e7ep-4}, {0x1.c71bcp-1, 0x1.e276b6e3e7aebp-4},
    {0x1.c58961p-1, 0x1.f0a257f91a1f4p-4}, {0x1.c3f9b4p-1, 0x1.fec223df3f6p-4},
    {0x1.c26a9ep-1, 0x1.06748ac54bff6p-3}, {0x1.c0e063p-1, 0x1.0d78241d09c8fp-3},
    {0x1.bf587ep-1, 0x1.1477376e88893p-3}, {0x1.bdd256p-1, 0x1.1b74724328901p-3},
    {0x1.bc4f99p-1, 0x1.22680c54b932p-3}, {0x1.bad03ap-1, 0x1.2952234293f37p-3},
    {0x1.b951cep-1, 0x1.303dd1964a3d9p-3}, {0x1.b7d6p-1, 0x1.37235202b4078p-3},
    {0x1.b65e0fp-1, 0x1.3dfcbcfad1957p-3}, {0x1.b4e82fp-1, 0x1.44d25a7cb9e68p-3},
    {0x1.b374e4p-1, 0x1.4ba1aee9d66fdp-3}, {0x1.b203d7p-1, 0x1.526c3fb2631fbp-3},
    {0x1.b0945dp-1, 0x1.5935254daa9d4p-3}, {0x1.af27e8p-1, 0x1.5ff5790ad8e99p-3},
    {0x1.adbe7cp-1, 0x1.66ad0d372ba09p-3}, {0x1.ac565ep-1, 0x1.6d640d0232a53p-3},
    {0x1.aaf15bp-1, 0x1.7411ced054554p-3}, {0x1.a98eeep-1, 0x1.7ab8b6c10deddp-3},
    {0x1.a82e75p-1, 0x1.815bbd3036f03p-3}, {0x1.a6d0cp-1, 0x1.87f6e452a9992p-3},
    {0x1.a5743ep-1, 0x1.8e91b0a092c86p-3}, {0x1.a41ab9p-1, 0x1.952363ef98146p-3},
    {0x1.a2c24p-1, 0x1.9bb561e81f785p-3}, {0x1.a16cacp-1, 0x1.a23e961eab5aap-3},
    {0x1.a01a2ep-1, 0x1.a8bdf5608e96ep-3}, {0x1.9ec93ep-1, 0x1.af3af2c836adfp-3},
    {0x1.9d7951p-1, 0x1.b5b834b59593dp-3}, {0x1.9c2ce4p-1, 0x1.bc295a62e73bcp-3},
    {0x1.9ae30ep-1, 0x1.c292cb919fa3fp-3}, {0x1.999949p-1, 0x1.c9010f79d148bp-3},
    {0x1.98539ep-1, 0x1.cf5ff06954817p-3}, {0x1.970dd8p-1, 0x1.d5c46ff553fbp-3},
    {0x1.95cbf4p-1, 0x1.dc1a769adae8fp-3}, {0x1.948a71p-1, 0x1.e2739ad34cf94p-3},
    {0x1.934bb5p-1, 0x1.e8c3b2076f50dp-3}, {0x1.920f87p-1, 0x1.ef0bc515d2c16p-3},
    {0x1.90d51dp-1, 0x1.f54fc538c3f84p-3}, {0x1.8f9c5bp-1, 0x1.fb903475ffd6cp-3},
    {0x1.8e656cp-1, 0x1.00e614c2e40ffp-2}, {0x1.8d30cbp-1, 0x1.04008defb40c5p-2},
    {0x1.8bfd98p-1, 0x1.0719beed3aadfp-2}, {0x1.8acb9ap-1, 0x1.0a3236b73952ep-2},
    {0x1.899b92p-1, 0x1.0d47fba5df674p-2}, {0x1.886ee3p-1, 0x1.105767471e918p-2},
    {0x1.87432ap-1, 0x1.1366a83da00ap-2}, {0x1.861893p-1, 0x1.167548dac29d5p-2},
    {0x1.84f045p-1, 0x1.19803d334d26ep-2}, {0x1.83c8c8p-1, 0x1.1c8b5bf702b15p-2},
    {0x1.82a4f9p-1, 0x1.1f8f0e6ea5416p-2}, {0x1.81823cp-1, 0x1.2292305d6f68cp-2},
    {0x1.8060a5p-1, 0x1.2594897c3c433p-2}, {0x1.7f3fc4p-1, 0x1.2897418e3d0adp-2},
    {0x1.7e22acp-1, 0x1.2b921ac3a44efp-2}, {0x1.7d059cp-1, 0x1.2e8f186e2d316p-2},
    {0x1.7beb99p-1, 0x1.31861a3364b18p-2}, {0x1.7ad178p-1, 0x1.347fa149ed32bp-2},
    {0x1.79bb24p-1, 0x1.3771129435d52p-2}, {0x1.78a45bp-1, 0x1.3a65edeebf52ap-2},
    {0x1.7790a6p-1, 0x1.3d5495c024624p-2}, {0x1.767e4cp-1, 0x1.4041b098a4361p-2},
    {0x1.756c7fp-1, 0x1.432f6e5e55fb4p-2}, {0x1.745cfap-1, 0x1.46190ca1c9163p-2}
    // clang-format on
};

}  // namespace logarithm_table

}  // namespace ARBORAND_ISA
}  // namespace arborand
